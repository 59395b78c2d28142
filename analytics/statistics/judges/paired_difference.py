"""Paired difference of two scorers on the same items, with its confidence interval.

Both figures are resampled together, so that what makes the items easy or hard falls out of the difference (Efron &
Tibshirani, "An Introduction to the Bootstrap", 1993, chapters 8 and 13; Koehn, "Statistical Significance Tests for
Machine Translation Evaluation", EMNLP 2004). An interval that holds 0 means that the difference could be chance.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analytics.statistics.arrays import FloatArray, IntArray
from analytics.statistics.bootstrap import (
    Estimate,
    Resampling,
    cluster_numbers,
    estimate,
    mean_estimate,
    percentile_interval,
    replicates,
    undefined_estimate,
    weighted_mean,
)
from analytics.statistics.correlation import spearman, undefined_reason
from analytics.statistics.intervals import FEWEST_CLUSTERS, expanded_percentiles

SENTENCES = {
    "nothing_shared": "No item has a score from both and votes by people.",
    "few_clusters": "Fewer than five raters or prompts cannot say how uncertain this is.",
}


@dataclass(frozen=True)
class PairedDifference:
    """first, second: the figure of each, over the items that both have a score of. difference: first less second."""

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
) -> PairedDifference:
    """first, second: each scorer's lead of the first side, NaN without one; humans: above 0 where people prefer the
    first side. Ties of a scorer count 1/2 and undecided pairs do not count, as in `accuracy`."""
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
) -> PairedDifference:
    """Of what each thing contributes to a mean: hits, losses, errors. Things with a NaN in either are left out.

    few: the clusters may be few, such as raters; the interval is then widened as `intervals` says, and there is
    none below five.
    """
    included = np.isfinite(first) & np.isfinite(second)
    if not included.any():
        return _undefined_difference("nothing_shared", resampling)
    groups = cluster_numbers(clusters, included, n=len(included))
    one, other = (np.asarray(column, dtype=np.float64)[included] for column in (first, second))
    difference = (_few_cluster_mean if few else mean_estimate)(one - other, groups, resampling=resampling)
    return PairedDifference(float(one.mean()), float(other.mean()), difference)


def rank_difference(
    first: FloatArray,
    second: FloatArray,
    humans: FloatArray,
    *,
    clusters: Sequence[Hashable],
    resampling: Resampling,
) -> PairedDifference:
    """Of Spearman's rho with people's values. Things with a NaN in any of the three are left out."""
    included = np.isfinite(first) & np.isfinite(second) & np.isfinite(humans)
    one, other, human = (np.asarray(column, dtype=np.float64)[included] for column in (first, second, humans))
    reason = undefined_reason(one, human) or undefined_reason(other, human)
    if reason:
        return _undefined_difference(reason, resampling, n=int(included.sum()))
    first_rho, second_rho = spearman(one, human), spearman(other, human)
    groups = cluster_numbers(clusters, included, n=len(included))
    difference = estimate(lambda times: first_rho(times) - second_rho(times), groups, resampling=resampling)
    all_once = np.ones((1, len(one)))
    return PairedDifference(float(first_rho(all_once)[0]), float(second_rho(all_once)[0]), difference)


def _few_cluster_mean(values: FloatArray, groups: IntArray, *, resampling: Resampling) -> Estimate:
    statistic, n, n_clusters = weighted_mean(values), len(groups), int(groups.max()) + 1
    value = float(statistic(np.ones((1, n)))[0])
    figure = Estimate(value, None, n, n_clusters, "few_clusters", resampling.level)
    if n_clusters < FEWEST_CLUSTERS:
        return figure
    drawn = replicates(statistic, groups, resampling)
    quantiles = expanded_percentiles(resampling.level, n_clusters)
    interval = percentile_interval(drawn, resampling.level, quantiles=quantiles)
    return replace(figure, interval=interval, reason=None, replicates=len(drawn))


def _undefined_difference(reason: str, resampling: Resampling, *, n: int = 0) -> PairedDifference:
    return PairedDifference(None, None, undefined_estimate(reason, n=n, resampling=resampling))
