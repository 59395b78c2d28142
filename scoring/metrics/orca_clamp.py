"""Setting a judge's near certain 0s and 1s to 0 and 1 (ORCA §5.5).

A mean within 1/8 of an end becomes that end where its variance is no larger than a threshold, which is sought on the
development part: the largest rho + tau - MAE of the means against the people's. The published code leaves MAE out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]

NEAR = 0.125
WEIGHTS = {"paper": (1.0, 1.0, 1.0), "code": (1.0, 1.0, 0.0)}

# Between two neighbouring variances nothing changes, so trying each is exact. Beyond so many they are taken evenly: a
# finer threshold would fit the development part's chance.
_MOST_TRIED = 200


@dataclass(frozen=True)
class Threshold:
    """`at_most` is the variance up to which means are clamped, None where none does better than no clamping at all.
    `before` and `after` are what was maximised, without and with it; None where it is undefined."""

    at_most: float | None
    before: float | None
    after: float | None


def clamped(means: Floats, variances: Floats, *, at_most: float | None) -> Floats:
    """Shape (answers,). A copy; with None as they are."""
    found = means.copy()
    if at_most is None:
        return found
    sure = variances <= at_most
    found[sure & (means < NEAR)] = 0.0
    found[sure & (means > 1 - NEAR)] = 1.0
    return found


def sought(
    means: Floats, variances: Floats, people: Floats, *, weights: tuple[float, float, float]
) -> Threshold:
    """`people` are the means of people's ratings of the same answers, from 0 to 1; `weights` those of rho, tau and
    MAE. The published search walks through a few thresholds; this one tries all that differ, and takes the smallest of
    equally good ones."""
    before = _goodness(means, people, weights)
    if before is None:
        return Threshold(None, None, None)
    best = Threshold(None, before, before)
    for at_most in _tried(variances[(means < NEAR) | (means > 1 - NEAR)]):
        goodness = _goodness(clamped(means, variances, at_most=at_most), people, weights)
        if goodness is not None and best.after is not None and goodness > best.after + 1e-12:
            best = Threshold(at_most, before, goodness)
    return best


def _tried(variances: Floats) -> list[float]:
    values = np.unique(variances)
    if len(values) > _MOST_TRIED:
        values = values[np.linspace(0, len(values) - 1, _MOST_TRIED).round().astype(int)]
    return [float(value) for value in values]


def _goodness(means: Floats, people: Floats, weights: tuple[float, float, float]) -> float | None:
    """None where a correlation is undefined: one of the two does not vary."""
    if len(means) < 2 or np.ptp(means) == 0 or np.ptp(people) == 0:
        return None
    rho = float(stats.spearmanr(means, people).statistic)
    tau = float(stats.kendalltau(means, people).statistic)
    error = float(np.abs(means - people).mean())
    return weights[0] * rho + weights[1] * tau - weights[2] * error
