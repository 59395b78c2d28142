"""Whether one scorer is better than another on the very same things.

Both figures are resampled together, so that what makes the things easy or hard falls out of the difference (Efron &
Tibshirani, "An Introduction to the Bootstrap", 1993, chapters 8 and 13; Koehn, "Statistical Significance Tests for
Machine Translation Evaluation", EMNLP 2004). An interval that holds 0 means that the difference could be chance.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analytics.statistics.bootstrap import (
    Estimate,
    Measure,
    Resampling,
    estimate,
    numbered,
    resamples,
    undefined,
    weighted_mean,
)
from analytics.statistics.correlation import spearman, why_undefined
from analytics.statistics.distinct_rows import FloatArray, IntArray
from analytics.statistics.few_clusters import FEWEST, tails

SENTENCES = {
    "nothing_shared": "There is nothing that both have a score of and people have judged.",
    "few_clusters": "Fewer than five raters or prompts cannot say how uncertain this is.",
}


@dataclass(frozen=True)
class Paired:
    """first, second: the figure of each, over the things that both have a score of. difference: first less second."""

    first: float | None
    second: float | None
    difference: Estimate

    @property
    def could_be_chance(self) -> bool | None:
        """None where there is no interval to tell by."""
        if self.difference.interval is None:
            return None
        low, high = self.difference.interval
        return low <= 0 <= high


def accuracy_difference(
    first: FloatArray,
    second: FloatArray,
    humans: FloatArray,
    *,
    clusters: Sequence[Hashable],
    resampling: Resampling,
    few: bool = False,
) -> Paired:
    """first, second: each scorer's lead of the first side, NaN without one; humans: above 0 where people prefer the
    first side. Ties of a scorer count 1/2 and undecided pairs do not count, as in `pairwise_accuracy`."""
    human = np.sign(np.asarray(humans, dtype=np.float64))
    right = [np.where(human == 0, np.nan, (1 + np.sign(lead) * human) / 2) for lead in (first, second)]
    return mean_difference(right[0], right[1], clusters=clusters, resampling=resampling, few=few)


def mean_difference(
    first: FloatArray,
    second: FloatArray,
    *,
    clusters: Sequence[Hashable],
    resampling: Resampling,
    few: bool = False,
) -> Paired:
    """Of what each thing contributes to a mean: hits, losses, errors. Things with a NaN in either are left out.

    few: the clusters may be few, such as raters; the interval is then widened as `few_clusters` says, and there is
    none below five.
    """
    kept = np.isfinite(first) & np.isfinite(second)
    if not kept.any():
        return _nothing("nothing_shared", resampling)
    groups = _groups(clusters, kept)
    one, other = (np.asarray(column, dtype=np.float64)[kept] for column in (first, second))
    measure = weighted_mean(one - other)
    found = _by_few(measure, groups, resampling) if few else estimate(measure, groups, resampling=resampling)
    return Paired(float(one.mean()), float(other.mean()), found)


def rank_difference(
    first: FloatArray,
    second: FloatArray,
    humans: FloatArray,
    *,
    clusters: Sequence[Hashable],
    resampling: Resampling,
) -> Paired:
    """Of Spearman's rho with people's values. Things with a NaN in any of the three are left out."""
    kept = np.isfinite(first) & np.isfinite(second) & np.isfinite(humans)
    one, other, human = (np.asarray(column, dtype=np.float64)[kept] for column in (first, second, humans))
    reason = why_undefined(one, human) or why_undefined(other, human)
    if reason:
        return _nothing(reason, resampling, n=int(kept.sum()))
    mine, theirs = spearman(one, human), spearman(other, human)
    groups = _groups(clusters, kept)
    found = estimate(lambda times: mine(times) - theirs(times), groups, resampling=resampling)
    all_once = np.ones((1, len(one)))
    return Paired(float(mine(all_once)[0]), float(theirs(all_once)[0]), found)


def _by_few(measure: Measure, groups: IntArray, resampling: Resampling) -> Estimate:
    n, of = len(groups), int(groups.max()) + 1
    value = float(measure(np.ones((1, n)))[0])
    found = Estimate(value, None, n, of, "few_clusters", resampling.level)
    if of < FEWEST:
        return found
    drawn = np.concatenate([measure(weights) for weights in resamples(groups, of, resampling)])
    low, high = np.quantile(drawn, tails(resampling.level, of))
    return replace(found, interval=(float(low), float(high)), reason=None, replicates=len(drawn))


def _groups(clusters: Sequence[Hashable], kept: np.ndarray) -> IntArray:
    return np.unique(numbered(clusters, n=len(kept))[kept], return_inverse=True)[1]


def _nothing(reason: str, resampling: Resampling, *, n: int = 0) -> Paired:
    return Paired(None, None, undefined(reason, n=n, resampling=resampling))
