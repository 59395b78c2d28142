"""Clamping of near certain ends (ORCA §5.5): a mean within 1/8 of an end becomes that end where its variance is no
larger than a threshold.

The threshold is chosen on the development part: the largest rho + tau - MAE of the means against the people's. The
published code leaves MAE out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CLAMP_WITHIN = 0.125
THRESHOLD_WEIGHTS = {"paper": (1.0, 1.0, 1.0), "code": (1.0, 1.0, 0.0)}

# Between two neighbouring variances nothing changes, so trying each is exact. Beyond so many they are taken evenly: a
# finer threshold would fit the development part's chance.
_MOST_TRIED = 200


@dataclass(frozen=True)
class ClampThreshold:
    """`at_most` is the variance up to which means are clamped, None where none does better than no clamping at all.
    `before` and `after` are what was maximised, without and with it; None where it is undefined."""

    at_most: float | None
    before: float | None
    after: float | None


def clamp_means(means: Floats, variances: Floats, *, at_most: float | None) -> Floats:
    """Shape (answers,). A copy; with None as they are."""
    clamped = means.copy()
    if at_most is None:
        return clamped
    sure = variances <= at_most
    clamped[sure & (means < CLAMP_WITHIN)] = 0.0
    clamped[sure & (means > 1 - CLAMP_WITHIN)] = 1.0
    return clamped


def find_clamp_threshold(
    means: Floats, variances: Floats, people: Floats, *, weights: tuple[float, float, float]
) -> ClampThreshold:
    """`people` are the means of people's ratings of the same answers, from 0 to 1; `weights` those of rho, tau and
    MAE. The published search walks through a few thresholds; this one tries all that differ, and takes the smallest of
    equally good ones."""
    before = _clamp_objective(means, people, weights)
    if before is None:
        return ClampThreshold(None, None, None)
    best = ClampThreshold(None, before, before)
    for at_most in _candidate_thresholds(variances[(means < CLAMP_WITHIN) | (means > 1 - CLAMP_WITHIN)]):
        goodness = _clamp_objective(clamp_means(means, variances, at_most=at_most), people, weights)
        if goodness is not None and best.after is not None and goodness > best.after + 1e-12:
            best = ClampThreshold(at_most, before, goodness)
    return best


def _candidate_thresholds(variances: Floats) -> list[float]:
    values = np.unique(variances)
    if len(values) > _MOST_TRIED:
        values = values[np.linspace(0, len(values) - 1, _MOST_TRIED).round().astype(int)]
    return [float(value) for value in values]


def _clamp_objective(means: Floats, people: Floats, weights: tuple[float, float, float]) -> float | None:
    """None where a correlation is undefined: one of the two does not vary."""
    if len(means) < 2 or np.ptp(means) == 0 or np.ptp(people) == 0:
        return None
    from scipy import stats  # takes a second to load, and reports import this module

    rho = float(stats.spearmanr(means, people).statistic)
    tau = float(stats.kendalltau(means, people).statistic)
    error = float(np.abs(means - people).mean())
    return weights[0] * rho + weights[1] * tau - weights[2] * error
