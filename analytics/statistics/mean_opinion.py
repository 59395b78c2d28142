"""Mean opinion scores: each system's ratings summed up, and how sure one can be of its mean."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from analytics.statistics.distinct_rows import FloatArray, IntArray
from analytics.statistics.two_way import Uncertainty, uncertainty


@dataclass(frozen=True, eq=False)
class Ratings:
    """Columns with a row per rating: which system (-1: none), unit, item and rater (-1: unnamed), and its value.

    `item`: what comes and goes together if the study were done again, such as a prompt with all its outputs.
    """

    system: IntArray
    unit: IntArray
    item: IntArray
    rater: IntArray
    value: FloatArray

    def __post_init__(self) -> None:
        strange = self.value[~np.isfinite(self.value)]
        if strange.size:
            raise ValueError(f"Ratings must be finite numbers; found {strange[0]}.")

    def __len__(self) -> int:
        return len(self.value)

    def of(self, rows: IntArray | np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Ratings:
        return Ratings(
            self.system[rows], self.unit[rows], self.item[rows], self.rater[rows], self.value[rows]
        )

    @property
    def raters(self) -> IntArray | None:
        """None as soon as one rating names nobody: nobody can say whose it is."""
        return None if not len(self) or (self.rater < 0).any() else self.rater


@dataclass(frozen=True)
class Opinion:
    """What was said of one system. mean, median: None without ratings. sd, with n - 1: None below two.

    interval: of the mean; None where `uncertainty` gives a reason.
    """

    system: int
    ratings: int
    units: int
    mean: float | None
    median: float | None
    sd: float | None
    quartiles: tuple[float, float] | None
    interval: tuple[float, float] | None
    uncertainty: Uncertainty


def opinion(ratings: Ratings, *, level: float, system: int = -1) -> Opinion:
    """Of all the ratings together."""
    n = len(ratings)
    if not n:
        none = uncertainty(ratings.value, items=ratings.item, raters=None)
        return Opinion(system, 0, 0, None, None, None, None, None, none)
    value, mean = ratings.value, float(ratings.value.mean())
    scores = (value - mean) / n if value.min() < value.max() else np.zeros(n)
    found = uncertainty(scores, items=ratings.item, raters=ratings.raters)
    half = found.half_width(level)
    low, middle, high = (float(one) for one in np.quantile(value, [0.25, 0.5, 0.75]))
    return Opinion(
        system=system,
        ratings=n,
        units=len(np.unique(ratings.unit)),
        mean=mean,
        median=middle,
        sd=math.sqrt(float((scores**2).sum()) * n * n / (n - 1)) if n > 1 else None,
        quartiles=(low, high),
        interval=None if half is None else (mean - half, mean + half),
        uncertainty=found,
    )


def opinions(ratings: Ratings, *, level: float) -> list[Opinion]:
    """Of every system that was rated, the best mean first; equal means in the order of the systems' numbers."""
    present = np.unique(ratings.system[ratings.system >= 0]).tolist()
    found = [opinion(ratings.of(ratings.system == one), level=level, system=one) for one in present]
    return sorted(found, key=lambda one: (-(one.mean or 0.0), one.system))
