"""Observed and expected disagreement for each level of measurement, with and without any one unit.

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

import numpy as np
from numpy.typing import NDArray

from analytics.statistics.distinct_rows import FloatArray, IntArray
from analytics.statistics.patterns import Patterns

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


def nominal(patterns: Patterns) -> Disagreement:
    """Squared distance 1 between any two different values."""
    totals = patterns.totals
    within = patterns.sizes**2 - patterns.per_pattern(patterns.count**2)
    return _fixed_distance(patterns, within=within, against=(totals.sum() - totals).astype(np.float64))


def interval(patterns: Patterns) -> Disagreement:
    """Squared distance (c - k)^2."""
    totals, value = patterns.totals, _rescaled(patterns.values)
    # Moving and stretching the scale leaves alpha alone, and keeps squares from overflow and cancellation.
    value = (value - value.min()) / np.ptp(value)
    value = value - (totals * value).sum() / totals.sum()
    first, second = (totals * value).sum(), (totals * value**2).sum()
    against = totals.sum() * value**2 - 2 * value * first + second
    within = squared_differences(patterns, value[patterns.code])
    return _fixed_distance(patterns, within=within, against=against)


def ratio(patterns: Patterns) -> Disagreement:
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


def two_arbitrary_labels(patterns: Patterns) -> Disagreement:
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


def still_varies(patterns: Patterns) -> NDArray[np.bool_]:
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
        return observed - pairs, np.where(still_varies(patterns), expected - 2 * own + within, np.nan)

    return Disagreement(observed, expected, without)


def _rescaled(values: FloatArray) -> FloatArray:
    return np.asarray(values / np.abs(values).max())


def _ratio_distance(left: FloatArray, right: FloatArray) -> FloatArray:
    total = left + right
    apart = np.divide(left - right, total, out=np.zeros_like(total), where=total != 0)
    return np.asarray(apart**2)
