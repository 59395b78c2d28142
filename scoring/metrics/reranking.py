"""Best of N: of the sounds that a system made for one prompt, the one that a scorer likes best (CMI-RewardBench,
§3.3.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

# The output of scorers that have one, or whose others are about how it came about.
_MAIN = "value"


def criterion(readings: Mapping[str, float], by: Sequence[str] = ()) -> float:
    """What candidates are compared by: the mean of the outputs named, or else a scorer's main output, or else the mean
    of all it has; for CMI-RM that is the paper's mean of musicality and alignment. Raises KeyError where one of those
    named is not there."""
    if by:
        return fmean(readings[name] for name in by)
    return readings[_MAIN] if _MAIN in readings else fmean(readings.values())


def best_of(values: Sequence[float | None], n: int) -> int | None:
    """The place of the highest of the first `n` values, the first of equals; None where none of them has a value."""
    scored = [(value, -place) for place, value in enumerate(values[:n]) if value is not None]
    return -max(scored)[1] if scored else None


def ranks(values: Sequence[float | None]) -> list[int | None]:
    """1 for the highest; equals in their order. None where there is no value."""
    scored = [(-value, place) for place, value in enumerate(values) if value is not None]
    found = {place: number for number, (_, place) in enumerate(sorted(scored), 1)}
    return [found.get(place) for place in range(len(values))]
