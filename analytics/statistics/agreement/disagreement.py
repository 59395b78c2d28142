"""Observed and expected disagreement at each level of measurement.

With n_c ratings of value c among n pairable ratings, coincidences o_ck and squared distances d_ck
(Krippendorff, "Content Analysis", 4th ed. 2018, chapter 12):

    alpha = 1 - (n - 1) * sum_ck o_ck d_ck / sum_ck n_c n_k d_ck

Neither o nor d is written out as a V x V table. A unit with counts x and m ratings adds x'dx / (m - 1) to the
numerator, and the denominator is n'dn, so memory follows the ratings on continuous scales too. Leaving one
unit out changes the denominator to (n - x)'d(n - x) = n'dn - 2 x'dn + x'dx.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from analytics.statistics.agreement.patterns import Patterns
from analytics.statistics.arrays import FloatArray, IntArray

# Levels of measurement, and the squared distance of two values at each. Krippendorff, "Content Analysis",
# 4th ed. 2018, chapter 12. `symmetric` is the nominal level for two labels that mean nothing in themselves;
# its expected disagreement does not follow from distances.


Level = Literal["nominal", "ordinal", "interval", "ratio"]
LEVELS: tuple[Level, ...] = get_args(Level)
AnyLevel = Level | Literal["symmetric"]


def squared_distances(
    level: AnyLevel, values: FloatArray, totals: FloatArray, *, first: IntArray, second: IntArray
) -> FloatArray:
    """(B, Q) squared distances of the values with codes `first` and `second`, both (Q,).

    values: (V,) ascending. totals: (B, V) how often each value was given, on which ordinal distances depend; others
    do not, and come as (1, Q).
    """
    if level == "ordinal":
        rank = np.cumsum(totals, axis=1) - totals / 2
        return np.asarray((rank[:, first] - rank[:, second]) ** 2)
    if level in ("nominal", "symmetric"):
        return np.asarray((first != second).astype(np.float64))[None, :]
    # The square of a very large or small value would overflow or vanish, and alpha does not depend on the unit.
    scaled = values / max(float(np.abs(values).max(initial=0.0)), np.finfo(np.float64).tiny)
    apart = scaled[first] - scaled[second]
    if level == "ratio":
        total = scaled[first] + scaled[second]
        apart = np.divide(apart, total, out=np.zeros_like(apart), where=total != 0)
    return np.asarray(apart**2)[None, :]


# Cells of the largest temporary table: 16 MB of float64.
_BLOCK = 2**21


@dataclass(frozen=True, eq=False)
class Disagreement:
    """The two sums behind alpha, over pairable units only.

    observed: sum_ck o_ck d_ck.
    expected: sum_ck n_c n_k d_ck.
    without: works out the same two, each (P,), after one unit of the pattern is left out; the expected sum is NaN
        where no variation would remain. Only the jackknife asks for them.
    """

    observed: float
    expected: float
    without: Callable[[], tuple[FloatArray, FloatArray]]

    def alpha(self, ratings: int) -> float:
        return 1 - (ratings - 1) * self.observed / self.expected


def disagreement_at(patterns: Patterns, level: AnyLevel) -> Disagreement:
    return _MEASURES[level](patterns)


def nominal_disagreement(patterns: Patterns) -> Disagreement:
    """Squared distance 1 between any two different values."""
    totals = patterns.totals
    within = patterns.sizes**2 - patterns.per_pattern(patterns.count**2)
    return _fixed_distance(patterns, within=within, against=(totals.sum() - totals).astype(np.float64))


def interval_disagreement(patterns: Patterns) -> Disagreement:
    """Squared distance (c - k)^2."""
    totals, value = patterns.totals, _rescaled(patterns.values)
    # Moving and stretching the scale leaves alpha alone, and keeps squares from overflow and cancellation.
    value = (value - value.min()) / np.ptp(value)
    value = value - (totals * value).sum() / totals.sum()
    first, second = (totals * value).sum(), (totals * value**2).sum()
    against = totals.sum() * value**2 - 2 * value * first + second
    within = squared_differences(patterns, value[patterns.code])
    return _fixed_distance(patterns, within=within, against=against)


def ratio_disagreement(patterns: Patterns) -> Disagreement:
    """Squared distance ((c - k) / (c + k))^2 of values of zero or more; takes V^2 time, but not memory."""
    value = _rescaled(patterns.values)
    within = np.zeros(len(patterns.multiplicity))
    for left, right in cell_pairs(patterns):
        distance = _ratio_distance(value[patterns.code[left]], value[patterns.code[right]])
        weight = patterns.count[left] * patterns.count[right] * distance
        within += np.bincount(patterns.pattern[left], weights=weight, minlength=len(within))
    rows = max(1, _BLOCK // len(value))
    blocks = (value[start : start + rows, None] for start in range(0, len(value), rows))
    against = np.concatenate([_ratio_distance(block, value) @ patterns.totals for block in blocks])
    return _fixed_distance(patterns, within=within, against=against)


def symmetric_disagreement(patterns: Patterns) -> Disagreement:
    """Two labels given by chance, so that ratings of different units differ half the time.

    De = 0.5 n / (n - 1), as for nominal values used equally often, whichever way the labels fell.
    """
    pairs = (patterns.sizes**2 - patterns.per_pattern(patterns.count**2)) / (patterns.sizes - 1)
    observed, n = float((patterns.multiplicity * pairs).sum()), int(patterns.ratings)
    return Disagreement(observed, n**2 / 2, lambda: (observed - pairs, (n - patterns.sizes) ** 2 / 2))


def squared_differences(patterns: Patterns, cell_value: FloatArray) -> FloatArray:
    """(P,) sum over ordered pairs of a unit's ratings of their squared difference; `cell_value` is (K,)."""
    starts = np.flatnonzero(np.diff(patterns.pattern, prepend=-1))
    # Counted from a rating of the unit itself, so that equal ratings differ by exactly 0.
    offset = cell_value - cell_value[starts][patterns.pattern]
    first = patterns.per_pattern(patterns.count * offset)
    return 2 * (patterns.sizes * patterns.per_pattern(patterns.count * offset**2) - first**2)


def varies_without(patterns: Patterns) -> NDArray[np.bool_]:
    """(P,) whether two or more different values remain after one unit of the pattern is left out."""
    vanishing = patterns.count == patterns.totals[patterns.code]
    return len(patterns.values) - patterns.per_pattern(vanishing) >= 2


def cell_pairs(patterns: Patterns) -> Iterator[tuple[IntArray, IntArray]]:
    """All ordered pairs of cells of the same pattern, as index arrays in blocks of bounded size."""
    width = np.bincount(patterns.pattern, minlength=len(patterns.multiplicity))
    start = np.cumsum(width) - width
    partners = width[patterns.pattern]
    block = np.cumsum(partners) // _BLOCK
    for cells in np.split(np.arange(len(partners)), np.flatnonzero(np.diff(block)) + 1):
        left = np.repeat(cells, partners[cells])
        before = np.repeat(np.cumsum(partners[cells]) - partners[cells], partners[cells])
        yield left, start[patterns.pattern[left]] + np.arange(len(left)) - before


def _fixed_distance(patterns: Patterns, *, within: FloatArray, against: FloatArray) -> Disagreement:
    """Sums for distances that depend on the two values alone: `within` (P,) is x'dx, `against` (V,) is dn."""
    pairs = within / (patterns.sizes - 1)
    observed = float((patterns.multiplicity * pairs).sum())
    expected = float((patterns.totals * against).sum())

    def without() -> tuple[FloatArray, FloatArray]:
        own = patterns.per_pattern(patterns.count * against[patterns.code])
        return observed - pairs, np.where(varies_without(patterns), expected - 2 * own + within, np.nan)

    return Disagreement(observed, expected, without)


def _rescaled(values: FloatArray) -> FloatArray:
    return np.asarray(values / np.abs(values).max())


def _ratio_distance(left: FloatArray, right: FloatArray) -> FloatArray:
    total = left + right
    apart = np.divide(left - right, total, out=np.zeros_like(total), where=total != 0)
    return np.asarray(apart**2)


# Disagreement on an ordinal scale, where the distance of two values depends on how often each was used. The
# distance is the squared difference of mid-ranks R_c = sum_{g<c} n_g + n_c / 2, so leaving a unit out moves
# every rank. With L = diag(n_c) - o the observed sum is 2 R'LR. Without a unit of counts x the ranks sink
# by s_c = sum_{g<c} x_g + x_c / 2; with that unit still in o the sum becomes 2 (R - s)'L(R - s). Of its
# terms only s'Ls needs a V x V table.


# Above this many distinct values s'Ls is left out of the jackknife: 1024 x 1024 cells take 8 MB, and the term
# moves the standard error by a fraction of about 1/n. Alpha itself is exact for any V.
MOST_ORDINAL_VALUES = 1024


def ordinal_disagreement(patterns: Patterns) -> Disagreement:
    """Squared distance (R_c - R_k)^2."""
    totals = patterns.totals.astype(np.float64)
    n = totals.sum()
    rank = np.cumsum(totals) - totals / 2 - n / 2  # centred: half-integers, exact in floating point
    within = squared_differences(patterns, rank[patterns.code])
    observed = float((patterns.multiplicity * within / (patterns.sizes - 1)).sum())
    expected = float(2 * n * (totals * rank**2).sum())

    def without() -> tuple[FloatArray, FloatArray]:
        remaining = np.where(varies_without(patterns), _expected_without(patterns, totals), np.nan)
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
    if size > MOST_ORDINAL_VALUES:
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


_MEASURES: dict[AnyLevel, Callable[[Patterns], Disagreement]] = {
    "nominal": nominal_disagreement,
    "ordinal": ordinal_disagreement,
    "interval": interval_disagreement,
    "ratio": ratio_disagreement,
    "symmetric": symmetric_disagreement,
}

# Krippendorff's alpha of many data sets at once: resamples of a study, or the study without each of its
# raters. Of a data set over V values alpha needs two kinds of sums over the units with two or more ratings:
# n_c, how often value c was given, and o_ck for c < k, how often two different values coincide. One row of
# V + V (V - 1) / 2 sums tells a data set, and a matrix product makes thousands of such rows from those of
# the distinct count rows.


# A row of sums of more values would be longer than the ratings it comes from.
MOST_SUMMED_VALUES = 40


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


def alphas_from_sums(sums: FloatArray, values: FloatArray, *, level: AnyLevel) -> FloatArray:
    """(B,) alpha of each row of sums (B, V + Q) over the ascending `values`; NaN where it is not defined."""
    size = len(values)
    totals, pairs = sums[:, :size], sums[:, size:]
    first, second = pairs_of_values(size)
    apart = squared_distances(level, values, totals, first=first, second=second)
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
