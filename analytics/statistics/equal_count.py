"""Bins that hold about as many items each."""

from __future__ import annotations

import numpy as np

from analytics.statistics.distinct_rows import FloatArray, IntArray


def sensible_bins(n: int, *, most: int, fewest: int = 10) -> int:
    """As many bins as n items fill with `fewest` each on average, one or more and `most` at most."""
    return max(1, min(most, n // fewest))


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
