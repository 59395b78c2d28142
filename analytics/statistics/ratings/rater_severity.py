"""Rater severity: ratings corrected by z-scores, or by an additive model of severity.

Both leave the overall mean where it is, so that their means read on the scale of the ratings.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from analytics.statistics.arrays import BoolArray, FloatArray, IntArray

# Half the pull of one rating: a rater of many units is hardly moved, one of a few is not taken at their word.
RIDGE = 0.5
_PRECISION = 1e-11


@dataclass(frozen=True, eq=False)
class ZScored:
    """`value`: the ratings on their scale again; NaN where the rater has none.

    left_out: how many raters gave one rating only, or always the same, so that theirs say nothing about differences.
    """

    value: FloatArray
    left_out: int


@dataclass(frozen=True, eq=False)
class Severities:
    """How much lower each rater rates than others rate the same units, by rater number.

    se: None where the rater shares no unit with another. n: ratings; shared: those on units that another rated too.
    residual_sd: what is left after unit and severity, of the shared ratings; None below two.
    adjusted: (n,) the ratings with their rater's severity added. residual: (n,) what model and rating differ by.
    Severities are weighted to add up to zero over all ratings. converged: the equations were solved to precision.
    """

    severity: FloatArray
    se: tuple[float | None, ...]
    n: IntArray
    shared: IntArray
    residual_sd: tuple[float | None, ...]
    adjusted: FloatArray
    residual: FloatArray
    converged: bool


def z_scored(value: FloatArray, rater: IntArray) -> ZScored:
    """Each rater's ratings less their mean, divided by their standard deviation (n - 1), then stretched by what the
    raters' standard deviations are on (quadratic) average and moved to the overall mean of the ratings kept.

    Takes away differences between raters, those also that come from having rated other systems.
    """
    number = np.unique(rater, return_inverse=True)[1]
    n = np.bincount(number).astype(np.float64)
    centred = value - (np.bincount(number, weights=value) / np.maximum(n, 1))[number]
    squares = np.bincount(number, weights=centred**2)
    size = np.bincount(number, weights=value**2)
    usable = (n > 1) & (squares > 1e-24 * size)
    if not usable.any():
        return ZScored(np.full(len(value), np.nan), len(n))
    sd = np.sqrt(np.divide(squares, n - 1, out=np.ones_like(squares), where=usable))
    rows = usable[number]
    common = math.sqrt(float(squares[usable].sum() / (n[usable] - 1).sum()))
    scored = float(value[rows].mean()) + common * centred / sd[number]
    return ZScored(np.where(rows, scored, np.nan), int((~usable).sum()))


def rater_severities(
    unit: IntArray, rater: IntArray, value: FloatArray, *, ridge: float = RIDGE
) -> Severities:
    """Fit value = theta(unit) - severity(rater) + error by least squares with `ridge` times the squared severities.

    unit, rater: numbers from 0, a row per rating. Units are eliminated, which leaves an equation per rater; these are
    solved by conjugate gradients, each step two sums over the ratings, so a million ratings take seconds.
    Raises ValueError for a rater without number, or a ridge that is not above zero.
    """
    if len(rater) and rater.min() < 0:
        raise ValueError("Severity is somebody's: ratings of unnamed raters have to be left out.")
    if not ridge > 0:
        raise ValueError(f"A ridge is above zero; got {ridge}.")
    raters, units = int(rater.max(initial=-1)) + 1, int(unit.max(initial=-1)) + 1
    n = np.bincount(rater, minlength=raters)
    of_unit = np.bincount(unit, minlength=units)

    def centred(column: FloatArray) -> FloatArray:
        """Less the mean of the column over the unit."""
        means = np.bincount(unit, weights=column, minlength=units) / np.maximum(of_unit, 1)
        return np.asarray(column - means[unit])

    def equations(severity: FloatArray) -> FloatArray:
        left = np.bincount(rater, weights=centred(severity[rater]), minlength=raters)
        return np.asarray(left + ridge * severity)

    right = -np.bincount(rater, weights=centred(value), minlength=raters).astype(np.float64)
    solution, converged = _conjugate_gradients(equations, right)
    residual = centred(value + solution[rater])
    severity = solution - (n @ solution / max(int(n.sum()), 1))
    shared, information = _shared_ratings(unit, rater, of_unit, raters=raters)
    return Severities(
        severity=severity,
        se=_standard_errors(residual, information, raters=raters, units=int((of_unit > 0).sum())),
        n=n,
        shared=shared,
        residual_sd=_residual_sds(residual, rater, of_unit[unit] > 1, raters=raters),
        adjusted=value + severity[rater],
        residual=residual,
        converged=converged,
    )


def _conjugate_gradients(
    equations: Callable[[FloatArray], FloatArray], right: FloatArray
) -> tuple[FloatArray, bool]:
    """Hestenes & Stiefel 1952, for a symmetric positive definite system; exact after as many steps as unknowns."""
    solution, rest = np.zeros_like(right), right.copy()
    step, size = rest.copy(), float(rest @ rest)
    target = _PRECISION**2 * size
    for _ in range(10 * len(right) + 10):
        if size <= target:
            return solution, True
        image = equations(step)
        length = size / float(step @ image)
        solution, rest = solution + length * step, rest - length * image
        size, before = float(rest @ rest), size
        step = rest + size / before * step
    return solution, False


def _shared_ratings(
    unit: IntArray, rater: IntArray, of_unit: IntArray, *, raters: int
) -> tuple[IntArray, FloatArray]:
    """(R,) ratings on units that somebody else rated too, and what these tell about the rater: n - sum n_u^2 / m_u."""
    cells, cell, own = np.unique(unit * max(raters, 1) + rater, return_inverse=True, return_counts=True)
    of_rater = cells % max(raters, 1)
    m = of_unit[cells // max(raters, 1)]
    others = m[cell] > own[cell]
    shared = np.bincount(rater[others], minlength=raters).astype(np.int64)
    information = np.bincount(of_rater, weights=own - own**2 / np.maximum(m, 1), minlength=raters)
    return shared, information.astype(np.float64)


def _standard_errors(
    residual: FloatArray, information: FloatArray, *, raters: int, units: int
) -> tuple[float | None, ...]:
    """Of each severity, as if the others' were known."""
    df = len(residual) - units - (raters - 1)
    if df < 1:
        return (None,) * raters
    variance = float((residual**2).sum()) / df
    return tuple(math.sqrt(variance / i) if i > 1e-12 else None for i in information.tolist())


def _residual_sds(
    residual: FloatArray, rater: IntArray, rows: BoolArray, *, raters: int
) -> tuple[float | None, ...]:
    n = np.bincount(rater[rows], minlength=raters).tolist()
    squares = np.bincount(rater[rows], weights=residual[rows] ** 2, minlength=raters).tolist()
    return tuple(math.sqrt(s / k) if k > 1 else None for s, k in zip(squares, n, strict=True))
