"""Krippendorff's alpha of many data sets at once: resamples of a study, or the study without each of its raters.

Of a data set over V values alpha needs two kinds of sums over the units with two or more ratings: n_c, how often value
c was given, and o_ck for c < k, how often two different values coincide. One row of V + V (V - 1) / 2 sums tells a
data set, and a matrix product makes thousands of such rows from those of the distinct count rows.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from analytics.statistics.distinct_rows import FloatArray, IntArray
from analytics.statistics.levels import AnyLevel, distances

# A row of sums of more values would be longer than the ratings it comes from.
MOST_VALUES = 40


@cache
def pairs_of_values(size: int) -> tuple[IntArray, IntArray]:
    """(Q,) the codes c and k of all pairs c < k of `size` values, in the order of the sums."""
    first, second = np.triu_indices(size, 1)
    first.flags.writeable = second.flags.writeable = False
    return first, second


def unit_sums(counts: IntArray) -> FloatArray:
    """(P, V + Q) what a unit with each of the count rows (P, V) adds: n_c, then o_ck for the Q pairs c < k."""
    counts = counts.astype(np.float64)
    size = counts.sum(axis=1, keepdims=True)
    first, second = pairs_of_values(counts.shape[1])
    pairs = counts[:, first] * counts[:, second] / np.maximum(size - 1, 1)
    return np.where(size >= 2, np.hstack([counts, pairs]), 0.0)


def alphas(sums: FloatArray, values: FloatArray, *, level: AnyLevel) -> FloatArray:
    """(B,) alpha of each row of sums (B, V + Q) over the ascending `values`; NaN where it is not defined."""
    size = len(values)
    totals, pairs = sums[:, :size], sums[:, size:]
    first, second = pairs_of_values(size)
    apart = distances(level, values, totals, first=first, second=second)
    n = totals.sum(axis=1)
    # Both sums run over c < k: half of what the formula has, above and below the line.
    observed = (pairs * apart).sum(axis=1)
    if level == "symmetric":
        expected, defined = n**2 / 4, n > 0
    else:
        expected = (totals[:, first] * totals[:, second] * apart).sum(axis=1)
        defined = (totals > 0).sum(axis=1) >= 2
    share = np.divide(observed, expected, out=np.full(len(sums), np.nan), where=defined)
    return np.asarray(1 - (n - 1) * share)
