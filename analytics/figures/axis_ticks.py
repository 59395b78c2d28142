"""Where an axis begins and ends, and the round numbers on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_MOST_STEPS = 6
_SPACE = "\N{NARROW NO-BREAK SPACE}"


@dataclass(frozen=True)
class Axis:
    start: float
    end: float
    ticks: tuple[float, ...]

    def share(self, value: float) -> float:
        """How far along it a value lies, 0 to 1; what lies beyond an end is drawn at the end."""
        return min(1.0, max(0.0, (value - self.start) / (self.end - self.start)))


def axis(values: Sequence[float], ends: tuple[float, float] | None) -> Axis:
    """From `ends`, or from a round number below the values to one above; 0 to 1 without values."""
    start, end = ends or (min(values, default=0.0), max(values, default=1.0))
    if start > end or (ends and start == end):
        raise ValueError(f"An axis goes upwards; got {start} to {end}.")
    if start == end:
        start, end = start - (abs(start) or 1) / 2, end + (abs(end) or 1) / 2
    step = _step(end - start)
    if ends is None:
        start, end = step * math.floor(start / step + 1e-9), step * math.ceil(end / step - 1e-9)
    first, last = math.ceil(start / step - 1e-9), math.floor(end / step + 1e-9)
    return Axis(start, end, tuple(n * step for n in range(first, last + 1)))


def written(value: float) -> str:
    """With a real minus, and thousands apart from 10 000 on."""
    small = abs(value) < 10_000
    text = f"{float(f'{value:.10g}') + 0.0:g}" if small else f"{value:,.0f}".replace(",", _SPACE)
    return text.replace("-", "−")


def _step(width: float) -> float:
    """1, 2 or 5 times a power of ten: the smallest that divides the width into few steps."""
    power = 10.0 ** math.floor(math.log10(width / _MOST_STEPS))
    return next(power * times for times in (1, 2, 5, 10, 20) if width / (power * times) <= _MOST_STEPS)
