"""Bins: of equal counts, of a rating scale, and the mean of one quantity within bins of another.

The bins come from the data as they are; resamples keep them, so an interval is that of the mean within its bin.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from analytics.statistics.arrays import FloatArray, IntArray
from analytics.statistics.bootstrap import (
    DEFAULT_RESAMPLING,
    Estimate,
    Resampling,
    mean_estimate,
    paired_values,
)

# Bins that hold about as many items each.


def bin_count(n: int, *, most: int) -> int:
    """As many bins as n items fill with ten each on average, one or more and `most` at most."""
    return max(1, min(most, n // 10))


def equal_count_bins(values: FloatArray, *, bins: int) -> IntArray:
    """(n,) which bin each value is in, from 0 upwards without a gap.

    By average ranks: equal values share a bin wherever they stand, so there are fewer bins where many values are equal.
    """
    if bins < 1:
        raise ValueError("Needs at least one bin.")
    if not len(values):
        return np.zeros(0, dtype=np.int64)
    _, which, times = np.unique(values, return_inverse=True, return_counts=True)
    # From 0 to 1: the middle of the place that equal values take up together.
    place = (np.cumsum(times) - times / 2) / len(values)
    bin_of = np.minimum((place * bins).astype(np.int64), bins - 1)
    return np.asarray(np.unique(bin_of[which], return_inverse=True)[1], dtype=np.int64)


@dataclass(frozen=True)
class BinnedMean:
    """x: the mean of what the bins divide; lowest and highest: its ends. mean: of the other quantity, with interval."""

    x: float
    lowest: float
    highest: float
    mean: Estimate

    @property
    def n(self) -> int:
        return self.mean.n


def binned_means(
    x: Sequence[float] | FloatArray,
    y: Sequence[float] | FloatArray,
    *,
    most_bins: int,
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling = DEFAULT_RESAMPLING,
) -> tuple[BinnedMean, ...]:
    """In ascending order of x. Items without a finite number in both are left out; there are fewer bins than
    `most_bins` where they would hold fewer than ten items each."""
    xs, ys, groups, _ = paired_values(x, y, clusters)
    bin_of = equal_count_bins(xs, bins=bin_count(len(xs), most=most_bins))
    means = []
    for number in range(int(bin_of.max(initial=-1)) + 1):
        within = bin_of == number
        own = np.unique(groups[within], return_inverse=True)[1]
        mean = mean_estimate(ys[within], own, resampling=resampling)
        own_x = xs[within]
        means.append(BinnedMean(float(own_x.mean()), float(own_x.min()), float(own_x.max()), mean))
    return tuple(means)


# Values to count ratings by: the points of a scale, or ranges of a continuous one.


# A continuous scale of which raters used no more values than this is shown value by value.
_MOST_SINGLE_VALUES = 11
_RANGES = 10
# BS.1534's scale has a name for each fifth, from "bad" to "excellent".
_FIFTHS, _MUSHRA = 5, (0.0, 100.0)


@dataclass(frozen=True, eq=False)
class RatingBins:
    """`edges`: (n + 1,) of ranges, or (n,) of values when not `ranges`."""

    labels: tuple[str, ...]
    edges: FloatArray
    ranges: bool

    def counts(self, value: FloatArray) -> IntArray:
        """How many of the values are in each; all have to be in one."""
        if self.ranges:
            return np.histogram(value, bins=self.edges)[0].astype(np.int64)
        return np.bincount(np.searchsorted(self.edges, value), minlength=len(self.edges)).astype(np.int64)


def rating_bins(
    value: FloatArray, *, points: Sequence[float], ends: tuple[float, float] | None
) -> RatingBins:
    """The scale's `points` with or without ratings, else each value given if they are few, else equal ranges from end
    to end of the scale, or of what was given."""
    used = np.unique(value)
    if points or len(used) <= _MOST_SINGLE_VALUES:
        values = np.unique(np.concatenate([np.asarray(points, dtype=np.float64), used]))
        return RatingBins(tuple(f"{value:g}" for value in values), values, ranges=False)
    low, high = ends or (float(used[0]), float(used[-1]))
    low, high = min(low, float(used[0])), max(high, float(used[-1]))
    edges = np.linspace(low, high, (_FIFTHS if (low, high) == _MUSHRA else _RANGES) + 1)
    labels = tuple(f"{start:g}–{end:g}" for start, end in pairwise(edges))
    return RatingBins(labels, edges, ranges=True)
