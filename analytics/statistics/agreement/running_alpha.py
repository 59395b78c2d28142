"""Running alpha: Krippendorff's alpha updated vote by vote, for simulated pilots and sequential stopping.

Alpha needs the coincidences o_ck and the totals n_c of all units, never the units themselves (Krippendorff, "Content
Analysis", 4th ed. 2018, chapter 12). A vote changes what one unit adds to them, so it costs O(V^2) for V values,
however many units there are.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from analytics.statistics.agreement.disagreement import LEVELS, AnyLevel, pairs_of_values, squared_distances
from analytics.statistics.arrays import FloatArray, IntArray

# After so many changes the coincidences are summed afresh from whole numbers, so that rounding never builds up.
_FRESH = 256


class RunningAlpha:
    """Alpha of the votes so far, equal to `krippendorff_alpha` (or `symmetric_alpha`) of the same votes.

    values: all the values a vote can have, two for `symmetric`. Raises ValueError for values that are not finite,
    not distinct or, at the ratio level, negative.
    """

    def __init__(self, values: Sequence[float], level: AnyLevel) -> None:
        self.level: AnyLevel = level
        self._values = _scale(values, level)
        self._code = {float(value): code for code, value in enumerate(self._values)}
        self._first, self._second = pairs_of_values(len(self._values))
        self._counts: dict[Hashable, IntArray] = {}
        # By m, the sum of x_c x_k (c < k) over the units with m votes, whose counts are x: whole, so never rounded.
        self._products: dict[int, IntArray] = {}
        self._coincidences = np.zeros(len(self._first))
        self._totals = np.zeros(len(self._values), dtype=np.int64)
        self._changes = 0
        self.ratings = 0
        self.pairable_units = 0

    @property
    def pairable_ratings(self) -> int:
        return int(self._totals.sum())

    def add(self, unit: Hashable, value: float) -> None:
        """One more vote on a unit. Raises ValueError for a value that is not on the scale."""
        code = self._code_of(value)
        counts = self._counts.setdefault(unit, np.zeros(len(self._values), dtype=np.int64))
        self._change(counts, code, 1)

    def remove(self, unit: Hashable, value: float) -> None:
        """One vote less. Raises ValueError when the unit has no such vote."""
        code, counts = self._code_of(value), self._counts.get(unit)
        if counts is None or not counts[code]:
            raise ValueError(f"Unit {unit!r} has no vote of {value:g} to take away.")
        self._change(counts, code, -1)
        if not counts.any():
            del self._counts[unit]

    def alpha(self) -> float | None:
        """None where `reason` says why."""
        if self.reason() is not None:
            return None
        totals = self._totals.astype(np.float64)
        n = float(totals.sum())
        distances = squared_distances(
            self.level, self._values, totals[None, :], first=self._first, second=self._second
        )[0]
        if self.level == "symmetric":
            expected = n**2 / 4
        else:
            expected = float((totals[self._first] * totals[self._second]) @ distances)
        return 1 - (n - 1) * float(self._coincidences @ distances) / expected

    def reason(self) -> str | None:
        """A code of `reasons.SENTENCES` where alpha is not defined."""
        if not self.ratings:
            return "no_ratings"
        if not self.pairable_units:
            return "no_pairable_units"
        if self.level != "symmetric" and np.count_nonzero(self._totals) < 2:
            return "no_variation"
        return None

    def _code_of(self, value: float) -> int:
        code = self._code.get(float(value))
        if code is None:
            raise ValueError(f"{value:g} is not on the scale {self._values.tolist()}.")
        return code

    def _change(self, counts: IntArray, code: int, step: int) -> None:
        self._count(counts, -1)
        counts[code] += step
        self._count(counts, 1)
        self.ratings += step
        self._changes += 1
        if self._changes % _FRESH == 0:
            self._sum_afresh()

    def _count(self, counts: IntArray, times: int) -> None:
        """Count a unit in (times = 1) or out (times = -1)."""
        size = int(counts.sum())
        if size < 2:
            return
        products = times * counts[self._first] * counts[self._second]
        self._products[size] = self._products.get(size, 0) + products
        self._coincidences += products / (size - 1)
        self._totals += times * counts
        self.pairable_units += times

    def _sum_afresh(self) -> None:
        self._products = {size: sums for size, sums in self._products.items() if sums.any()}
        self._coincidences[:] = 0
        for size, sums in sorted(self._products.items()):
            self._coincidences += sums / (size - 1)


def _scale(values: Sequence[float], level: AnyLevel) -> FloatArray:
    known = (*LEVELS, "symmetric")
    if level not in known:
        raise ValueError(f"Unknown level of measurement {level!r}; known are {', '.join(known)}.")
    scale = np.sort(np.asarray(values, dtype=np.float64))
    if not np.isfinite(scale).all() or len(np.unique(scale)) < len(scale):
        raise ValueError(f"The values of a scale are finite and distinct; got {list(values)}.")
    if level == "symmetric" and len(scale) != 2:
        raise ValueError(f"Label-symmetric alpha is for two labels; got {list(values)}.")
    if level == "ratio" and (scale < 0).any():
        raise ValueError(f"The ratio level needs values of zero or more; got {scale.min():g}.")
    return scale
