"""Percent agreement: of ratings, of votes pair by pair, and by the voters' confidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analytics.statistics.agreement.patterns import Patterns
from analytics.statistics.arrays import FloatArray, IntArray
from analytics.statistics.bootstrap import Resampling
from analytics.statistics.intervals import Share, clustered_share


@dataclass(frozen=True)
class PercentAgreement:
    """Shares of equal pairs among the ratings of a unit; they differ where the numbers of ratings differ.

    pooled_pairs: all pairs of all units together, so a unit weighs m (m - 1) / 2 (CMI-RewardBench, Table 6).
    per_unit_mean: each unit's own share, averaged: every unit weighs the same.
    observed: 1 - Do of nominal alpha: every rating weighs the same.
    All three are None when no unit has two ratings, and then `reason` says so.
    """

    pooled_pairs: float | None
    per_unit_mean: float | None
    observed: float | None
    pairable_units: int
    pairs: int
    reason: str | None


def percent_agreement(patterns: Patterns) -> PercentAgreement:
    """The agreement of pairs of ratings, not corrected for chance."""
    pairable = patterns.pairable()
    if not pairable.units:
        return PercentAgreement(
            None, None, None, 0, 0, "no_pairable_units" if patterns.units else "no_ratings"
        )
    sizes, times = pairable.sizes, pairable.multiplicity
    pairs, equal = _count_pairs(sizes), pairable.per_pattern(_count_pairs(pairable.count))
    share = equal / pairs
    return PercentAgreement(
        pooled_pairs=float((times * equal).sum() / (times * pairs).sum()),
        per_unit_mean=float((times * share).sum() / pairable.units),
        observed=float((times * sizes * share).sum() / pairable.ratings),
        pairable_units=pairable.units,
        pairs=int((times * pairs).sum()),
        reason=None,
    )


# Agreement of votes between two sides, pair of votes by pair of votes, as CMI-RewardBench counts it (Tables
# 6 and 7). Table 6: of all pairs of votes on one comparison, how many prefer the same side. The paper's
# alpha is 1 less twice the share of pairs that disagree: chance gives one half, since which side is stored
# as A is arbitrary, and every pair of votes weighs the same. `symmetric_alpha` is the same idea after
# Krippendorff: every vote weighs the same, and chance is that of a sample without replacement.


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
        """1 - Do / De with De = 1/2 and every pair of votes as a unit of its own; None without pairs."""
        return 1 - 2 * self.disagreements / self.agreeing.n if self.agreeing.n else None


@dataclass(frozen=True)
class SamePreference:
    """Votes of the same people on two questions. The confidences are means over those who gave one, else None."""

    same: Share
    confidence_same: tuple[float | None, float | None]
    confidence_different: tuple[float | None, float | None]

    @property
    def different(self) -> int:
        return self.same.n - self.same.hits


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
    pairs, agreeing = _count_pairs(votes), _count_pairs(sides).sum(axis=0)
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
    means = [(_mean_confidence(one[rows]), _mean_confidence(other[rows])) for rows in (same, ~same)]
    return SamePreference(share, confidence_same=means[0], confidence_different=means[1])


def _count_pairs(votes: IntArray) -> IntArray:
    return votes * (votes - 1) // 2


def _mean_confidence(values: FloatArray) -> float | None:
    confidences = np.sort(values[~np.isnan(values)])  # sums in a fixed order are the same to the last bit
    return float(confidences.mean()) if len(confidences) else None


# Is somebody who is surer right more often? Confidence of votes against what the others on the same unit
# say.


NO_MAJORITY = -1


@dataclass(frozen=True)
class AtConfidence:
    """Votes of one confidence. with_others: how many agree with the majority of the others, where there is one."""

    level: float
    votes: int
    with_others: Share


def agrees_with_others(unit: ArrayLike, second: ArrayLike) -> IntArray:
    """Per vote that prefers a side: 1 if most of the other such votes on its unit prefer the same side, else 0.

    NO_MAJORITY where there is no other vote or as many of them for either side.
    """
    _, number = np.unique(np.asarray(unit), return_inverse=True)
    side = np.where(np.asarray(second, dtype=bool), -1, 1)
    lead = np.bincount(number, weights=side, minlength=1)[number].astype(np.int64) - side
    return np.where(lead == 0, NO_MAJORITY, np.sign(lead) == side)


def agreement_by_confidence(
    confidence: FloatArray, agrees: IntArray, *, clusters: ArrayLike | None, resampling: Resampling
) -> list[AtConfidence]:
    """Every confidence that was given, ascending; `agrees` as by `agrees_with_others`."""
    levels = []
    for level in np.unique(confidence[~np.isnan(confidence)]):
        rows = confidence == level
        compared = rows & (agrees != NO_MAJORITY)
        own = None if clusters is None else np.asarray(clusters)[compared]
        hits = agrees[compared]
        share = clustered_share(hits, np.ones_like(hits), clusters=own, resampling=resampling)
        levels.append(AtConfidence(float(level), int(rows.sum()), share))
    return levels
