"""Values to count ratings by: the points of a scale, or ranges of a continuous one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from analytics.statistics.distinct_rows import FloatArray, IntArray

# A continuous scale of which raters used no more values than this is shown value by value.
_MOST_VALUES = 11
_RANGES = 10
# BS.1534's scale has a name for each fifth, from "bad" to "excellent".
_FIFTHS, _MUSHRA = 5, (0.0, 100.0)


@dataclass(frozen=True, eq=False)
class Bins:
    """`edges`: (n + 1,) of ranges, or (n,) of values when not `ranges`."""

    labels: tuple[str, ...]
    edges: FloatArray
    ranges: bool

    def counts(self, value: FloatArray) -> IntArray:
        """How many of the values are in each; all have to be in one."""
        if self.ranges:
            return np.histogram(value, bins=self.edges)[0].astype(np.int64)
        return np.bincount(np.searchsorted(self.edges, value), minlength=len(self.edges)).astype(np.int64)


def bins(value: FloatArray, *, points: Sequence[float], ends: tuple[float, float] | None) -> Bins:
    """The scale's `points` with or without ratings, else each value given if they are few, else equal ranges from end
    to end of the scale, or of what was given."""
    used = np.unique(value)
    if points or len(used) <= _MOST_VALUES:
        values = np.unique(np.concatenate([np.asarray(points, dtype=np.float64), used]))
        return Bins(tuple(f"{one:g}" for one in values), values, ranges=False)
    low, high = ends or (float(used[0]), float(used[-1]))
    low, high = min(low, float(used[0])), max(high, float(used[-1]))
    edges = np.linspace(low, high, (_FIFTHS if (low, high) == _MUSHRA else _RANGES) + 1)
    labels = tuple(f"{one:g}–{other:g}" for one, other in pairwise(edges))
    return Bins(labels, edges, ranges=True)
