"""Newton's method for the strengths of systems, for many tables of counts at once.

A table costs the same however many votes it holds. Each step solves for all strengths, so twenty systems take some five
steps to TOLERANCE, where re-estimating strengths in turn (Hunter, Annals of Statistics 32, 2004) takes hundreds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.statistics.distinct_rows import FloatArray, IntArray
from analytics.statistics.ranking_models import BoolArray, Model

# A fit ends after the step that was to gain less than half of this in log-likelihood. Steps converge quadratically:
# what is left after that one is lost in rounding.
TOLERANCE = 1e-16
# Log-odds beyond this (1 : 1e13) between compared systems have no end: there is no maximum. What a side that was never
# beaten can still gain falls as they grow, but reaches the tolerance only beyond.
_ENDLESS = 30.0
_STEPS = 100
_HALVINGS = 40
# A smallest eigenvalue below this part of the largest means that some difference rests on no vote.
_FLAT = 1e-12


@dataclass(frozen=True)
class Design:
    """Which pairs were compared: systems one[p] and other[p] of n; with `position`, one[p] was shown first.

    ridge: half of it times the sum of squared strengths is taken off the log-likelihood.
    """

    n: int
    one: IntArray
    other: IntArray
    position: bool = False
    ridge: float = 0.0


@dataclass(frozen=True)
class Fits:
    """Per table (B, M): n strengths of mean 0, what being shown first is worth (with position), shared parameters.

    identified: the votes tell about every difference. found: it has a maximum, and that was reached (False where not
    identified). covariance (B, M, M): inverse of the information, for strengths as differences to their mean.
    """

    parameters: FloatArray
    identified: BoolArray
    found: BoolArray
    covariance: FloatArray | None = None


def fit(
    design: Design, model: Model, counts: FloatArray, *, start: FloatArray, covariance: bool = False
) -> Fits:
    """Fit each of the tables `counts` (B, P, 2K + 1), all from the parameters `start` (M,)."""
    parameters = np.tile(start, (len(counts), 1))
    identified = model.complete(counts)
    identified[identified] = _identified(design, model, counts[identified], parameters[identified])
    found = identified.copy()
    rows = np.flatnonzero(identified)
    for _ in range(_STEPS):
        if not len(rows):
            break
        parameters[rows], gain = _step(design, model, counts[rows], parameters[rows])
        endless = _endless(design, counts[rows], parameters[rows])
        found[rows[endless]] = False
        rows = rows[~endless & (gain > TOLERANCE)]
    found[rows] = False
    spread = _covariance(design, model, counts, parameters) if covariance and found.all() else None
    return Fits(parameters, identified, found, spread)


def _step(
    design: Design, model: Model, counts: FloatArray, parameters: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """One Newton step, halved for a table as long as it would lose; and twice the gain it promised."""
    slope, bend = _derivatives(design, model, counts, parameters)
    step = np.linalg.solve(bend + _mean(design, bend), slope[..., None])[..., 0]
    gain = (slope * step).sum(axis=1)
    before = _value(design, model, counts, parameters)
    slack = 1e-10 * (1 + np.abs(before))  # rounding
    for _ in range(_HALVINGS):
        worse = ~(_value(design, model, counts, parameters + step) >= before - slack)
        if not worse.any():
            break
        step[worse] /= 2
    moved = parameters + step
    moved[:, : design.n] -= moved[:, : design.n].mean(axis=1, keepdims=True)
    return moved, gain


def _value(design: Design, model: Model, counts: FloatArray, parameters: FloatArray) -> FloatArray:
    d, shared = _apart(design, parameters)
    penalty = design.ridge / 2 * (parameters[:, : design.n] ** 2).sum(axis=1)
    return np.asarray(model.log_likelihood(d, shared, counts) - penalty)


def _derivatives(
    design: Design, model: Model, counts: FloatArray, parameters: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The gradient (B, M) and the negative Hessian (B, M, M)."""
    found = model.curvature(*_apart(design, parameters), counts)
    n, lead = design.n, design.n + design.position
    slope, bend = np.zeros_like(parameters), np.zeros((*parameters.shape, parameters.shape[1]))
    slope[:, :n] = _per_system(design, found.slope) - design.ridge * parameters[:, :n]
    slope[:, lead:] = found.shared_slope
    bend[:, :n, :n] = _laplacian(design, found.bend) + design.ridge * np.eye(n)
    bend[:, lead:, lead:] = found.shared_bend
    borders = [(lead + q, found.cross_bend[..., q]) for q in range(found.cross_bend.shape[2])]
    if design.position:
        slope[:, n] = found.slope.sum(axis=1)
        bend[:, n, n] = found.bend.sum(axis=1)
        bend[:, n, lead:] = bend[:, lead:, n] = found.cross_bend.sum(axis=1)
        borders.append((n, found.bend))
    for place, by_pair in borders:
        bend[:, place, :n] = bend[:, :n, place] = _per_system(design, by_pair)
    return slope, bend


def _apart(design: Design, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
    """d per pair, and the shared parameters."""
    d = parameters[:, design.one] - parameters[:, design.other]
    if design.position:
        d += parameters[:, design.n, None]
    return d, parameters[:, design.n + design.position :]


def _per_system(design: Design, by_pair: FloatArray) -> FloatArray:
    square = _square(design, by_pair)
    return np.asarray(square.sum(axis=2) - square.sum(axis=1))


def _laplacian(design: Design, by_pair: FloatArray) -> FloatArray:
    square = _square(design, by_pair)
    square += square.transpose(0, 2, 1).copy()
    degree = square.sum(axis=2)
    np.negative(square, out=square)
    diagonal = np.arange(design.n)
    square[:, diagonal, diagonal] += degree
    return square


def _square(design: Design, by_pair: FloatArray) -> FloatArray:
    square = np.zeros((len(by_pair), design.n, design.n))
    square[:, design.one, design.other] = by_pair
    return square


def _mean(design: Design, bend: FloatArray) -> FloatArray:
    """(B, M, M), added to the Hessian: holds the mean of the strengths, which no vote tells about, where it is."""
    held = np.zeros_like(bend)
    size = np.trace(bend, axis1=1, axis2=2) / bend.shape[1] / design.n
    held[:, : design.n, : design.n] = size[:, None, None]
    return held


def _identified(design: Design, model: Model, counts: FloatArray, parameters: FloatArray) -> BoolArray:
    """Whether the strengths and the position effect can be told apart from the votes, a ridge left aside."""
    if not len(counts):
        return np.zeros(0, dtype=bool)
    d, shared = _apart(design, parameters)
    plain = Design(design.n, design.one, design.other, design.position)
    even = np.hstack([np.zeros((len(d), design.n + design.position)), shared])
    kept = design.n + design.position
    bend = _derivatives(plain, model, counts, even)[1][:, :kept, :kept]
    values = np.linalg.eigvalsh(bend + _mean(plain, bend))
    return np.asarray(values[:, 0] > _FLAT * values[:, -1])


def _endless(design: Design, counts: FloatArray, parameters: FloatArray) -> BoolArray:
    d, shared = _apart(design, parameters)
    # A ridge bounds the strengths, so that only what they share can be endless.
    free = parameters[:, design.n : design.n + design.position] if design.ridge else d * counts.any(axis=2)
    # Odds are of sums of d and shared parameters, or of two of these.
    reach = np.abs(free).max(axis=1, initial=0) + 2 * np.abs(shared).max(axis=1, initial=0)
    return np.asarray(reach > _ENDLESS)


def _covariance(design: Design, model: Model, counts: FloatArray, parameters: FloatArray) -> FloatArray:
    _, bend = _derivatives(design, model, counts, parameters)
    inverse = np.linalg.inv(bend + _mean(design, bend))
    centre = np.eye(bend.shape[1])
    centre[: design.n, : design.n] -= 1 / design.n
    return np.asarray(centre @ inverse @ centre)
