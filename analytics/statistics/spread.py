"""How many units have ratings far apart: variance above a threshold, by every reading of the phrase.

"The share of pairs with a variance above 1" can mean the variance of the ratings given (divided by n) or the unbiased
estimate (by n - 1), of all units or of those with two ratings or more, above the threshold or reaching it. The readings
differ by several per cent of the same data, so each is counted and named.
"""

from __future__ import annotations

from dataclasses import dataclass

from analytics.statistics.disagreement import squared_differences
from analytics.statistics.distinct_rows import FloatArray
from analytics.statistics.patterns import Patterns


@dataclass(frozen=True)
class Spread:
    """How many units have a variance above, and at or above, `threshold`.

    A unit with one rating has a variance of 0 when divided by n, and none when divided by n - 1: it counts among
    `units`, never among those above.
    """

    threshold: float
    units: int
    pairable_units: int
    population_above: int
    population_reaching: int
    unbiased_above: int
    unbiased_reaching: int


def spread(patterns: Patterns, *, threshold: float) -> Spread:
    """Raises ValueError for a threshold that is not above zero."""
    if not threshold > 0:
        raise ValueError(f"A variance is compared with a number above zero; got {threshold}.")
    pairable = patterns.pairable()
    sizes, times = pairable.sizes, pairable.multiplicity
    # Over ordered pairs of a unit's ratings: n^2 times twice the variance.
    squares = squared_differences(pairable, pairable.values[pairable.code])

    def units(variance: FloatArray, *, reaching: bool) -> int:
        return int(times[variance >= threshold if reaching else variance > threshold].sum())

    population, unbiased = squares / (2 * sizes**2), squares / (2 * sizes * (sizes - 1))
    return Spread(
        threshold=threshold,
        units=patterns.units,
        pairable_units=pairable.units,
        population_above=units(population, reaching=False),
        population_reaching=units(population, reaching=True),
        unbiased_above=units(unbiased, reaching=False),
        unbiased_reaching=units(unbiased, reaching=True),
    )
