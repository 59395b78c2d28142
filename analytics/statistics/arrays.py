"""Where each value stands among all of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def percentile_ranks(values: FloatArray) -> FloatArray:
    """(n,) from 0 for the lowest to 1 for the highest; equal values share the middle of their places."""
    if len(values) < 2:
        return np.full(len(values), 0.5)
    _, which, times = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(times) - (times + 1) / 2
    return np.asarray(middle[which] / (len(values) - 1))


BoolArray = NDArray[np.bool_]


def population_variances(unit: IntArray, value: FloatArray, *, units: int) -> FloatArray:
    """(units,) of each unit's ratings, divided by how many they are; NaN below two ratings."""
    n = np.bincount(unit, minlength=units)
    mean = np.bincount(unit, weights=value, minlength=units) / np.maximum(n, 1)
    squares = np.bincount(unit, weights=(value - mean[unit]) ** 2, minlength=units)
    return np.where(n > 1, squares / np.maximum(n, 1), np.nan)


def sample_variances(unit: IntArray, value: FloatArray, *, n: int) -> FloatArray:
    """(n,) the unbiased variance of each unit's values; NaN below two."""
    size = np.bincount(unit, minlength=n)
    mean = np.bincount(unit, weights=value, minlength=n) / np.maximum(size, 1)
    squares = np.bincount(unit, weights=(value - mean[unit]) ** 2, minlength=n)
    return np.where(size > 1, squares / np.maximum(size - 1, 1), np.nan)
