"""Array types, percentile ranks, and variances by group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


def percentile_ranks(values: FloatArray) -> FloatArray:
    """(n,) from 0 for the lowest to 1 for the highest; equal values share the middle of their places."""
    if len(values) < 2:
        return np.full(len(values), 0.5)
    _, which, times = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(times) - (times + 1) / 2
    return np.asarray(middle[which] / (len(values) - 1))


def group_variances(group: IntArray, value: FloatArray, *, size: int, ddof: int) -> FloatArray:
    """(size,) of each group's values, divided by how many they are less `ddof`; NaN below two values."""
    n = np.bincount(group, minlength=size)
    mean = np.bincount(group, weights=value, minlength=size) / np.maximum(n, 1)
    squares = np.bincount(group, weights=(value - mean[group]) ** 2, minlength=size)
    return np.where(n > 1, squares / np.maximum(n - ddof, 1), np.nan)
