"""Where each value stands among all of them."""

from __future__ import annotations

import numpy as np

from analytics.statistics.distinct_rows import FloatArray


def places(values: FloatArray) -> FloatArray:
    """(n,) from 0 for the lowest to 1 for the highest; equal values share the middle of their places."""
    if len(values) < 2:
        return np.full(len(values), 0.5)
    _, which, times = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(times) - (times + 1) / 2
    return np.asarray(middle[which] / (len(values) - 1))
