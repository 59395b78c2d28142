"""How far a scorer's ratings lie from people's, on a scale from 0 to 1 (ORCA, section 5.4), beside what is due to the
scale and to chance: the best constant, and for variances the error of a scorer that knows the true ones."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from analytics.statistics.bootstrap import Estimate, Resampling, estimate, numbered, undefined, weighted_mean
from analytics.statistics.distinct_rows import FloatArray, IntArray

# A variance of two ratings says next to nothing of the true one.
FEWEST_RATINGS = 3
_DRAWS = 20


@dataclass(frozen=True)
class AbsoluteError:
    """constant: the error of giving every item the median human value, which no other constant beats."""

    error: Estimate
    constant: float | None


@dataclass(frozen=True)
class VarianceError:
    """Against the unbiased variance of each unit's ratings, where there are three or more.

    floor: the error that remains, on average over seeded draws, for a scorer that knows each unit's distribution, if
    that is the unit's own ratings, spread as ratings given beside such ones are, to the variance that there is.
    """

    error: Estimate
    constant: float | None
    floor: float | None


def absolute_error(
    scores: Sequence[float] | FloatArray,
    humans: Sequence[float] | FloatArray,
    *,
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling | None = None,
) -> AbsoluteError:
    """Both from 0 to 1. Items without a finite number in both are left out."""
    resampling = resampling or Resampling()
    x, y = np.asarray(scores, dtype=np.float64), np.asarray(humans, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 1:
        raise ValueError("Needs one score and one human value per item.")
    kept = np.isfinite(x) & np.isfinite(y)
    if not kept.any():
        return AbsoluteError(undefined("no_items", n=0, resampling=resampling), None)
    groups = np.unique(numbered(clusters, n=len(x))[kept], return_inverse=True)[1]
    x, y = x[kept], y[kept]
    found = estimate(weighted_mean(np.abs(x - y)), groups, resampling=resampling)
    return AbsoluteError(found, float(np.abs(y - np.median(y)).mean()))


def variance_error(
    predicted: Sequence[float] | FloatArray,
    unit: Sequence[int] | IntArray,
    rating: Sequence[float] | FloatArray,
    *,
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling | None = None,
) -> VarianceError:
    """predicted: the variance of each unit, NaN where there is none. unit, rating: a row per rating, from 0 to 1."""
    resampling = resampling or Resampling()
    expected, of, value = np.asarray(predicted, float), np.asarray(unit), np.asarray(rating, float)
    size = np.bincount(of, minlength=len(expected))
    found = sample_variances(of, value, n=len(expected))
    found[(size < FEWEST_RATINGS) | ~np.isfinite(expected)] = np.nan
    absolute = absolute_error(expected, found, clusters=clusters, resampling=resampling)
    if absolute.error.value is None:
        return VarianceError(absolute.error, None, None)
    there = np.isfinite(found)[of]
    floor = _floor(of[there], value[there], seed=resampling.seed)
    return VarianceError(absolute.error, absolute.constant, floor)


def sample_variances(unit: IntArray, value: FloatArray, *, n: int) -> FloatArray:
    """(n,) the unbiased variance of each unit's values; NaN below two."""
    size = np.bincount(unit, minlength=n)
    mean = np.bincount(unit, weights=value, minlength=n) / np.maximum(size, 1)
    squares = np.bincount(unit, weights=(value - mean[unit]) ** 2, minlength=n)
    return np.where(size > 1, squares / np.maximum(size - 1, 1), np.nan)


def _floor(unit: IntArray, value: FloatArray, *, seed: int) -> float:
    """Draws as many ratings of each unit as it has, and compares their variance with that of what they came from."""
    points, code = np.unique(value, return_inverse=True)
    unit = np.unique(unit, return_inverse=True)[1]
    count = np.zeros((unit.max() + 1, len(points)))
    np.add.at(count, (unit, code), 1.0)
    size = count.sum(axis=1).astype(np.int64)
    chance = _chances(count, points)
    true = _variance(chance, points)
    rng = np.random.default_rng(seed)
    errors = []
    for _ in range(_DRAWS):
        drawn = rng.multinomial(size, chance)
        sampled = _variance(drawn / size[:, None], points) * size / (size - 1)
        errors.append(np.abs(sampled - true).mean())
    return float(np.mean(errors))


def _chances(count: FloatArray, points: FloatArray) -> FloatArray:
    """(units, points) of another rating: between the unit's own ratings, which vary too little, and what is said beside
    each of them in all units, which varies too much; where between, the mean variance tells, which is known."""
    size = count.sum(axis=1, keepdims=True)
    together = (count / (size - 1)).T @ count - np.diag((count / (size - 1)).sum(axis=0))
    own = count / size
    beside = own @ (together / together.sum(axis=1, keepdims=True))
    target = (_variance(own, points) * size[:, 0] / (size[:, 0] - 1)).mean()
    low, high = 0.0, 1.0
    for _ in range(40):
        share = (low + high) / 2
        if _variance((1 - share) * own + share * beside, points).mean() < target:
            low = share
        else:
            high = share
    found = (1 - high) * own + high * beside
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _variance(chance: FloatArray, points: FloatArray) -> FloatArray:
    return np.asarray(chance @ points**2 - (chance @ points) ** 2)
