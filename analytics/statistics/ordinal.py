"""Disagreement on an ordinal scale, where the distance of two values depends on how often each was used.

The distance is the squared difference of mid-ranks R_c = sum_{g<c} n_g + n_c / 2, so leaving a unit out moves
every rank. With L = diag(n_c) - o the observed sum is 2 R'LR. Without a unit of counts x the ranks sink by
s_c = sum_{g<c} x_g + x_c / 2; with that unit still in o the sum becomes 2 (R - s)'L(R - s). Of its terms only
s'Ls needs a V x V table.
"""

from __future__ import annotations

import numpy as np

from analytics.statistics.disagreement import Disagreement, cell_pairs, squared_differences, still_varies
from analytics.statistics.distinct_rows import FloatArray
from analytics.statistics.patterns import Patterns

# Above this many distinct values s'Ls is left out of the jackknife: 1024 x 1024 cells take 8 MB, and the term
# moves the standard error by a fraction of about 1/n. Alpha itself is exact for any V.
TABLE_VALUES = 1024


def ordinal(patterns: Patterns) -> Disagreement:
    """Squared distance (R_c - R_k)^2."""
    totals = patterns.totals.astype(np.float64)
    n = totals.sum()
    rank = np.cumsum(totals) - totals / 2 - n / 2  # centred: half-integers, exact in floating point
    within = squared_differences(patterns, rank[patterns.code])
    observed = float((patterns.multiplicity * within / (patterns.sizes - 1)).sum())
    expected = float(2 * n * (totals * rank**2).sum())

    def without() -> tuple[FloatArray, FloatArray]:
        remaining = np.where(still_varies(patterns), _expected_without(patterns, totals), np.nan)
        return _observed_without(patterns, rank, observed), remaining

    return Disagreement(observed, expected, without)


def _observed_without(patterns: Patterns, rank: FloatArray, observed: float) -> FloatArray:
    """(P,) the observed sum with the ranks that remain, less what the left-out unit adds to it."""
    earlier_patterns = np.cumsum(patterns.sizes) - patterns.sizes
    sunk = np.cumsum(patterns.count) - patterns.count / 2 - earlier_patterns[patterns.pattern]
    own = squared_differences(patterns, rank[patterns.code] - sunk) / (patterns.sizes - 1)
    slope = _mid_sums(_laplacian_times(patterns, rank))
    first_order = 4 * patterns.per_pattern(patterns.count * slope[patterns.code])
    return np.asarray(observed - first_order + 2 * _second_order(patterns) - own)


def _laplacian_times(patterns: Patterns, rank: FloatArray) -> FloatArray:
    """(V,) L R = n R - o R, from the cells."""
    cell_rank = rank[patterns.code]
    unit_sum = patterns.per_pattern(patterns.count * cell_rank)[patterns.pattern]
    others = _pair_weights(patterns) * patterns.count * (unit_sum - cell_rank)
    coincident = np.bincount(patterns.code, weights=others, minlength=len(rank))
    return np.asarray(patterns.totals * rank - coincident)


def _second_order(patterns: Patterns) -> FloatArray:
    """(P,) s'Ls for the mid-ranks s of a unit's own ratings; zeros where the scale has too many values."""
    size = len(patterns.values)
    result = np.zeros(len(patterns.multiplicity))
    if size > TABLE_VALUES:
        return result
    code, count = patterns.code, patterns.count
    table = _mid_sums(_mid_sums(np.diag(patterns.totals) - _coincidences(patterns)).T)
    for left, right in cell_pairs(patterns):
        products = count[left] * count[right] * table[code[left], code[right]]
        result += np.bincount(patterns.pattern[left], weights=products, minlength=len(result))
    return result


def _coincidences(patterns: Patterns) -> FloatArray:
    """(V, V) o_ck."""
    size, code, count = len(patterns.values), patterns.code, patterns.count
    flat, weight = np.zeros(size * size), _pair_weights(patterns)
    for left, right in cell_pairs(patterns):
        pairs = weight[left] * count[left] * (count[right] - (left == right))
        flat += np.bincount(code[left] * size + code[right], weights=pairs, minlength=size * size)
    return flat.reshape(size, size)


def _pair_weights(patterns: Patterns) -> FloatArray:
    """(K,) what one pair of ratings of the cell's units adds to the coincidences."""
    return np.asarray((patterns.multiplicity / (patterns.sizes - 1))[patterns.pattern])


def _mid_sums(table: FloatArray) -> FloatArray:
    """Sums over the first axis of all that lies after a value, and half of the value itself."""
    return np.asarray(np.cumsum(table[::-1], axis=0)[::-1] - table / 2)


def _expected_without(patterns: Patterns, totals: FloatArray) -> FloatArray:
    """(P,) n (n^3 - sum_c n_c^3) / 6, the sum of squared mid-rank distances over all pairs, less one unit."""
    at = totals[patterns.code]
    cubes = (totals**3).sum() - patterns.per_pattern(at**3 - (at - patterns.count) ** 3)
    n = totals.sum() - patterns.sizes
    return np.asarray(n * (n**3 - cubes) / 6)
