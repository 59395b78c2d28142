"""Is somebody who is surer right more often? Confidence of votes against what the others on the same unit say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analytics.statistics.bootstrap import Resampling
from analytics.statistics.clustered_share import Share, clustered_share
from analytics.statistics.distinct_rows import FloatArray, IntArray

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


def by_confidence(
    confidence: FloatArray, agrees: IntArray, *, clusters: ArrayLike | None, resampling: Resampling
) -> list[AtConfidence]:
    """Every confidence that was given, ascending; `agrees` as by `agrees_with_others`."""
    found = []
    for level in np.unique(confidence[~np.isnan(confidence)]):
        here = confidence == level
        told = here & (agrees != NO_MAJORITY)
        own = None if clusters is None else np.asarray(clusters)[told]
        share = clustered_share(agrees[told], np.ones(int(told.sum())), clusters=own, resampling=resampling)
        found.append(AtConfidence(float(level), int(here.sum()), share))
    return found
