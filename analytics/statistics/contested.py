"""Units that people genuinely disagree about: ratings far apart, and nothing else that would explain it.

Not a fault that somebody reported, and not raters who are strict or lenient throughout: with everybody's severity taken
out the ratings are still far apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.statistics.distinct_rows import FloatArray, IntArray
from analytics.statistics.noise_reference import population_variances

BoolArray = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True, eq=False)
class Contested:
    """Columns with a row per unit number. variance: of the ratings as given, divided by their number; NaN below two.

    rest: the same after severities, which `variance` is again where raters are unnamed. far: above the threshold as
    given; explained: of these, those with a reported fault, or whose ratings are not far apart without severities.
    """

    ratings: IntArray
    variance: FloatArray
    rest: FloatArray
    far: BoolArray
    reported: BoolArray
    explained: BoolArray

    @property
    def contested(self) -> BoolArray:
        return self.far & ~self.explained

    @property
    def pairable(self) -> BoolArray:
        return self.ratings > 1

    def listed(self) -> IntArray:
        """The contested units: most apart after severities first, then most ratings, then by number."""
        found = np.flatnonzero(self.contested)
        return found[np.lexsort((found, -self.ratings[found], -np.round(self.rest[found], 9)))]


def contested(
    unit: IntArray,
    value: FloatArray,
    *,
    adjusted: FloatArray | None,
    reported: BoolArray,
    threshold: float,
) -> Contested:
    """unit: number of each rating's unit. adjusted: the ratings with their raters' severities added (see
    `rater_normalised`), None without named raters. reported: (units,) whether somebody gave a code to the unit."""
    if not threshold > 0:
        raise ValueError(f"A variance is compared with a number above zero; got {threshold}.")
    units = len(reported)
    variance = population_variances(unit, value, units=units)
    rest = variance if adjusted is None else population_variances(unit, adjusted, units=units)
    with np.errstate(invalid="ignore"):
        far, still = variance > threshold, rest > threshold
    return Contested(
        ratings=np.bincount(unit, minlength=units),
        variance=variance,
        rest=rest,
        far=far,
        reported=reported,
        explained=far & (reported | ~still),
    )
