"""Agreement of votes between two sides, pair of votes by pair of votes, as CMI-RewardBench counts it (Tables 6 and 7).

Table 6: of all pairs of votes on one comparison, how many prefer the same side. The paper's alpha is 1 less twice the
share of pairs that disagree: chance gives one half, since which side is stored as A is arbitrary, and every pair of
votes weighs the same. `symmetric_alpha` is the same idea after Krippendorff: every vote weighs the same, and chance is
that of a sample without replacement.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analytics.statistics.bootstrap import Resampling
from analytics.statistics.clustered_share import Share, clustered_share
from analytics.statistics.distinct_rows import FloatArray, IntArray


@dataclass(frozen=True)
class PairAgreement:
    """`agreeing`: pairs of votes that prefer the same side, of all pairs. units: with two votes or more."""

    units: int
    votes: int
    agreeing: Share

    @property
    def disagreements(self) -> int:
        return self.agreeing.n - self.agreeing.hits

    @property
    def alpha(self) -> float | None:
        return alpha_of_pairs(self.disagreements, self.agreeing.n)


@dataclass(frozen=True)
class SamePreference:
    """Votes of the same people on two questions. The confidences are means over those who gave one, else None."""

    same: Share
    confidence_same: tuple[float | None, float | None]
    confidence_different: tuple[float | None, float | None]

    @property
    def different(self) -> int:
        return self.same.n - self.same.hits


def alpha_of_pairs(disagreements: int, pairs: int) -> float | None:
    """1 - Do / De with De = 1/2 and every pair of votes as a unit of its own; None without pairs."""
    return 1 - 2 * disagreements / pairs if pairs else None


def pair_agreement(
    unit: ArrayLike, second: ArrayLike, *, clusters: ArrayLike, resampling: Resampling
) -> PairAgreement:
    """A row per vote that prefers a side: the unit's number, whether it is for the second side, the unit's cluster.

    All rows of a unit are in one cluster.
    """
    _, one, number = np.unique(np.asarray(unit), return_index=True, return_inverse=True)
    of_second = np.asarray(second, dtype=bool)
    sides = np.stack([np.bincount(number[here], minlength=len(one)) for here in (~of_second, of_second)])
    votes: IntArray = sides.sum(axis=0)
    pairs, agreeing = _pairs(votes), _pairs(sides).sum(axis=0)
    share = clustered_share(agreeing, pairs, clusters=np.asarray(clusters)[one], resampling=resampling)
    several = votes >= 2
    return PairAgreement(int(several.sum()), int(votes[several].sum()), share)


def same_preference(
    sides: tuple[ArrayLike, ArrayLike],
    confidences: tuple[ArrayLike, ArrayLike],
    *,
    clusters: ArrayLike | None,
    resampling: Resampling,
) -> SamePreference:
    """A row per judgment that prefers a side in both questions: the sides and the confidences (NaN without one)."""
    same = np.asarray(sides[0]) == np.asarray(sides[1])
    share = clustered_share(same, np.ones(len(same)), clusters=clusters, resampling=resampling)
    one, other = (np.asarray(column, dtype=np.float64) for column in confidences)
    return SamePreference(
        same=share,
        confidence_same=(_mean(one[same]), _mean(other[same])),
        confidence_different=(_mean(one[~same]), _mean(other[~same])),
    )


def _pairs(votes: IntArray) -> IntArray:
    return votes * (votes - 1) // 2


def _mean(values: FloatArray) -> float | None:
    given = np.sort(values[~np.isnan(values)])  # sums in a fixed order are the same to the last bit
    return float(given.mean()) if len(given) else None
