"""Percentile bootstrap intervals, resampling whole clusters.

Efron & Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13 (percentile intervals) and section 8.3 (draw
the units that are independent: here the clusters, each with all it holds). Items that share a text prompt or a sound
are not independent of each other, so they come and go together.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analytics.statistics.arrays import FloatArray, IntArray

# From how often each item is in each of B resamples, (B, n), to the statistic of each, (B,); NaN where undefined.
WeightedStatistic = Callable[[FloatArray], FloatArray]

REPLICATES = 1000
# How many weights are in memory at once.
_CELLS = 4_000_000

SENTENCES = {
    "too_few": "Fewer than three items have both a score and a human answer.",
    "constant_scores": "The scorer gave every item the same value, so nothing can be correlated with it.",
    "constant_humans": "All items have the same human value, so nothing can be correlated with it.",
    "one_class": "All items are of one class, so there is nothing to tell apart.",
    "no_decided_pairs": "No pair has both a human preference and a score for either side.",
    "no_items": "No item has all the scores it needs.",
    "one_cluster": "All items belong together (one prompt or one sound), so the data cannot say how uncertain this is.",
    "too_many": "There are too many items to resample this figure in reasonable time, so it has no interval.",
    "mostly_undefined": "In most resamples of the data the figure is not defined, so there is no interval.",
}


@dataclass(frozen=True)
class Estimate:
    """A figure with its interval at `level`, over `n` items in `clusters` independent groups.

    reason: a code of SENTENCES where the value, or else the interval, is None. degenerate: of the `replicates`, how
    many left the figure undefined (all values equal, one class only); the interval rests on the others.
    """

    value: float | None
    interval: tuple[float, float] | None
    n: int
    clusters: int
    reason: str | None
    level: float = 0.95
    replicates: int = 0
    degenerate: int = 0


@dataclass(frozen=True)
class Resampling:
    """How intervals are drawn: the same seed gives the same interval."""

    seed: int = 0
    level: float = 0.95
    replicates: int = REPLICATES

    def __post_init__(self) -> None:
        if not 0 < self.level < 1 or self.replicates < 1:
            raise ValueError("Needs a level between 0 and 1 and at least one replicate.")


def undefined_estimate(reason: str, *, n: int, clusters: int = 0, resampling: Resampling) -> Estimate:
    return Estimate(None, None, n, clusters, reason, resampling.level)


def number_clusters(clusters: Sequence[Hashable] | None, *, n: int) -> IntArray:
    """The clusters as numbers from 0, in the order met; without clusters every item is one of its own."""
    if clusters is None:
        return np.arange(n)
    if len(clusters) != n:
        raise ValueError(f"There are {n} items but {len(clusters)} clusters.")
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(cluster, len(numbers)) for cluster in clusters], dtype=np.int64)


def estimate(measure: WeightedStatistic, clusters: IntArray, *, resampling: Resampling) -> Estimate:
    """The figure of all items, and the interval between the quantiles of its resamples.

    The measure has to be defined on the items themselves; `undefined` is for where it is not.
    """
    n, groups = len(clusters), int(clusters.max()) + 1
    value = float(measure(np.ones((1, n)))[0])
    found = Estimate(value, None, n, groups, "one_cluster", resampling.level)
    if groups < 2:
        return found
    drawn = np.concatenate([measure(weights) for weights in resample_weights(clusters, groups, resampling)])
    valid = drawn[np.isfinite(drawn)]
    found = replace(found, replicates=len(drawn), degenerate=len(drawn) - len(valid))
    if 2 * len(valid) < len(drawn):
        return replace(found, reason="mostly_undefined")
    tail = (1 - resampling.level) / 2
    low, high = np.quantile(valid, [tail, 1 - tail])
    return replace(found, interval=(float(low), float(high)), reason=None)


def weighted_mean(values: FloatArray) -> WeightedStatistic:
    """The mean of what each item contributes: shares, accuracies."""

    def measure(weights: FloatArray) -> FloatArray:
        return np.asarray(weights @ values / weights.sum(axis=1))

    return measure


def resample_weights(clusters: IntArray, groups: int, resampling: Resampling) -> Iterator[FloatArray]:
    """How often each item is in each resample, (B, n), in pieces whose sizes leave no trace in the draws."""
    rng = np.random.default_rng(resampling.seed)
    at_once = max(1, _CELLS // len(clusters))
    for start in range(0, resampling.replicates, at_once):
        rows = min(at_once, resampling.replicates - start)
        drawn = rng.integers(groups, size=(rows, groups)) + groups * np.arange(rows)[:, None]
        times = np.bincount(drawn.ravel(), minlength=rows * groups).reshape(rows, groups)
        yield times[:, clusters].astype(np.float64)
