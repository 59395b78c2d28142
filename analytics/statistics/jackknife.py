"""The delete-one-unit jackknife of alpha.

Krippendorff's own bootstrap treats the pairs within a unit as independent, and its intervals are far too
narrow (Hughes, arXiv:2210.13265). The jackknife over units covers as often as it says from some 30 units on,
and it needs no random numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from analytics.statistics.disagreement import Disagreement
from analytics.statistics.distinct_rows import FloatArray
from analytics.statistics.patterns import Patterns

Measure = Callable[[Patterns], Disagreement]

# Below this fraction of the full expected sum, rounding spoils what remains without a unit: sum it afresh.
_CANCELLED = 1e-6
# Leave-one-out alphas that differ by less are equal: alpha is of order one.
_ROUNDING = 1e-12


def alpha_of(observed: float, expected: float, *, ratings: int) -> float:
    return 1 - (ratings - 1) * observed / expected


def alphas_without(patterns: Patterns, *, measure: Measure, sums: Disagreement) -> FloatArray:
    """(P,) alpha after one unit of each pattern is left out; NaN where it would not be defined."""
    observed, expected = (np.array(sum_) for sum_ in sums.without())
    for pattern in np.flatnonzero(expected < _CANCELLED * sums.expected):
        afresh = measure(patterns.without(int(pattern)))
        # A fresh sum may be scaled differently; only the quotient of the two counts.
        observed[pattern], expected[pattern] = afresh.observed, afresh.expected
    remaining = patterns.ratings - patterns.sizes
    return np.asarray(1 - (remaining - 1) * observed / expected)


def standard_error(
    patterns: Patterns, *, measure: Measure, sums: Disagreement
) -> tuple[float | None, str | None]:
    """The jackknife standard error over units, or None and the reason why the data cannot give one.

    se^2 = (N - 1) / N * sum_u (alpha_(-u) - their mean)^2 over the N pairable units.
    """
    units, times = patterns.units, patterns.multiplicity
    if units < 2:
        return None, "one_pairable_unit"
    alphas = alphas_without(patterns, measure=measure, sums=sums)
    if np.isnan(alphas).any():
        return None, "variation_in_one_unit"
    spread = alphas - (times * alphas).sum() / units
    if np.abs(spread).max() < _ROUNDING:
        return None, "no_spread"
    return math.sqrt((units - 1) / units * float((times * spread**2).sum())), None
