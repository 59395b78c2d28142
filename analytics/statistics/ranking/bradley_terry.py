"""Bradley-Terry strengths with ties or ordered margins, by Newton's method, for many tables of counts at once.

A table costs the same however many votes it holds. Each step solves for all strengths, so twenty systems take some five
steps to TOLERANCE, where re-estimating strengths in turn (Hunter, Annals of Statistics 32, 2004) takes hundreds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from analytics.statistics.arrays import BoolArray, FloatArray, IntArray

# What is likely when two systems are compared: Davidson's model of ties and an ordered model of margins.
# Both take d, the difference of two log-strengths (plus what being shown first is worth), per pair, and
# parameters that all pairs share. Both log-likelihoods are concave, so Newton's method finds the one
# maximum there is. Counts are (B, P, 2K + 1): per replicate and pair the wins of the one side by margin
# 1..K, those of the other, and the ties. Davidson, "On extending the Bradley-Terry model to accommodate
# ties in paired comparison experiments", JASA 65, 1970. Agresti, "Analysis of ordinal paired comparison
# data", Applied Statistics 41, 1992 (cumulative logits; with one margin it is the model of Rao and Kupper,
# JASA 62, 1967).


@dataclass(frozen=True)
class Curvature:
    """First derivatives of the log-likelihood and second ones with their sign turned.

    gradient, information: by d, (B, P). shared_gradient (B, Q), shared_information (B, Q, Q): by the Q shared
    parameters. cross_information: by d and each of those, (B, P, Q).
    """

    gradient: FloatArray
    information: FloatArray
    shared_gradient: FloatArray
    cross_information: FloatArray
    shared_information: FloatArray


class PairModel(Protocol):
    """start: the shared parameters of equal systems (Q,). complete: which replicates, (B,), can be fitted."""

    @property
    def ties(self) -> bool: ...
    @property
    def margins(self) -> int: ...

    def start(self, totals: FloatArray) -> FloatArray: ...
    def complete(self, counts: FloatArray) -> BoolArray: ...
    def log_likelihood(self, d: FloatArray, shared: FloatArray, counts: FloatArray) -> FloatArray: ...
    def curvature(self, d: FloatArray, shared: FloatArray, counts: FloatArray) -> Curvature: ...


@dataclass(frozen=True)
class Davidson:
    """P(one) : P(other) : P(tie) = exp(d/2) : exp(-d/2) : nu, and log nu the one shared parameter if there are ties.

    Where a replicate happens to hold no tie, nu is 0 and its log is left as it is.
    """

    ties: bool
    margins: int = 1

    def start(self, totals: FloatArray) -> FloatArray:
        """`totals` (3,): all wins of either side and all ties; at least one of the former."""
        return np.log(2 * totals[2:] / (totals[0] + totals[1])) if self.ties else np.zeros(0)

    def complete(self, counts: FloatArray) -> BoolArray:
        return np.ones(len(counts), dtype=bool)

    def log_likelihood(self, d: FloatArray, shared: FloatArray, counts: FloatArray) -> FloatArray:
        log_nu = self._log_nu(shared, counts)
        scale = np.logaddexp(np.logaddexp(d / 2, -d / 2), log_nu)
        drawn = np.where(counts[..., 2] > 0, counts[..., 2] * np.where(np.isinf(log_nu), 0, log_nu), 0)
        return np.asarray(
            ((counts[..., 0] - counts[..., 1]) * d / 2 + drawn - counts.sum(axis=2) * scale).sum(axis=1)
        )

    def curvature(self, d: FloatArray, shared: FloatArray, counts: FloatArray) -> Curvature:
        log_nu, n = self._log_nu(shared, counts), counts.sum(axis=2)
        scale = np.logaddexp(np.logaddexp(d / 2, -d / 2), log_nu)
        one, other, tie = np.exp(d / 2 - scale), np.exp(-d / 2 - scale), np.exp(log_nu - scale)
        lead, q = one - other, shared.shape[1]
        shared_information = (n * tie * (1 - tie)).sum(axis=1)
        return Curvature(
            gradient=(counts[..., 0] - counts[..., 1] - n * lead) / 2,
            information=n * (one + other - lead**2) / 4,
            shared_gradient=(counts[..., 2] - n * tie).sum(axis=1)[:, None][:, :q],
            cross_information=(-n * tie * lead / 2)[:, :, None][:, :, :q],
            # Without ties the log of nu has nothing to go by: it stays, whatever it is divided by.
            shared_information=np.where(shared_information > 0, shared_information, 1)[:, None, None][
                :, :q, :q
            ],
        )

    def _log_nu(self, shared: FloatArray, counts: FloatArray) -> FloatArray:
        if not self.ties:
            return np.full((len(counts), 1), -np.inf)
        return np.where(counts[..., 2].sum(axis=1, keepdims=True) > 0, shared, -np.inf)


@dataclass(frozen=True)
class OrderedMargin:
    """P(one is ahead by more than margin k) = F(d - c_k), the other F(-d - c_k), F logistic and c ascending.

    A tie lies between -c_0 and c_0; without ties c_0 is 0. The shared parameters are c_0 (if there are ties) up to
    c_(K-1). Each threshold is then one logistic regression, but for the chance to fall between two of them, which
    depends on nothing but their distance: F(u) - F(v) = F(u) F(-v) (1 - exp(v - u)).
    """

    ties: bool
    margins: int

    def start(self, totals: FloatArray) -> FloatArray:
        """`totals` (2K + 1,) with votes at every margin."""
        by_margin = self._by_margin(totals[None])[0]
        above = np.cumsum(by_margin[::-1])[::-1][1:] / by_margin.sum()
        thresholds = np.log((2 - above) / above)
        return np.asarray(thresholds if self.ties else thresholds[1:])

    def complete(self, counts: FloatArray) -> BoolArray:
        """Two thresholds with no vote between them would become one, which is another model."""
        by_margin = self._by_margin(counts.sum(axis=1))
        return np.asarray((by_margin[:, 0 if self.ties else 1 :] > 0).all(axis=1))

    def log_likelihood(self, d: FloatArray, shared: FloatArray, counts: FloatArray) -> FloatArray:
        x, above, below = self._regressions(d, shared, counts)
        inside = -(above * np.logaddexp(0, -x) + below * np.logaddexp(0, x)).sum(axis=(1, 2, 3))
        gaps, _ = self._gaps(shared)
        between = self._between(counts)
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(gaps > 0, between * np.log(-np.expm1(-gaps)), -np.inf)
        return np.asarray(inside + room.sum(axis=1))

    def curvature(self, d: FloatArray, shared: FloatArray, counts: FloatArray) -> Curvature:
        x, above, below = self._regressions(d, shared, counts)
        chance = np.exp(-np.logaddexp(0, -x))
        gradient, information = above - (above + below) * chance, (above + below) * chance * (1 - chance)
        sides = np.array([1.0, -1.0])[:, None]
        gaps, by_shared = self._gaps(shared)
        between, opened = self._between(counts), np.expm1(gaps)
        free = slice(0 if self.ties else 1, None)
        own = np.zeros((len(d), shared.shape[1], shared.shape[1]))
        diagonal = np.arange(shared.shape[1])
        own[:, diagonal, diagonal] = information.sum(axis=(1, 2))[:, free]
        return Curvature(
            gradient=(sides * gradient).sum(axis=(2, 3)),
            information=information.sum(axis=(2, 3)),
            shared_gradient=-gradient.sum(axis=(1, 2))[:, free] + (between / opened) @ by_shared,
            cross_information=-(sides * information).sum(axis=2)[..., free],
            shared_information=own
            + np.einsum("bg,gq,gr->bqr", between * (opened + 1) / opened**2, by_shared, by_shared),
        )

    def _regressions(
        self, d: FloatArray, shared: FloatArray, counts: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """x = ±d - c_k, the votes above the threshold and those right below it, each (B, P, 2, K)."""
        k = self.margins
        above = counts[..., : 2 * k].reshape(*counts.shape[:2], 2, k)
        ties = np.broadcast_to(counts[..., 2 * k, None, None], (*counts.shape[:2], 2, 1))
        below = np.concatenate([ties, above[..., :-1]], axis=3)
        thresholds = self._thresholds(shared)[:, None, None, :]
        return np.stack([d, -d], axis=2)[..., None] - thresholds, above, below

    def _thresholds(self, shared: FloatArray) -> FloatArray:
        return shared if self.ties else np.hstack([np.zeros((len(shared), 1)), shared])

    def _gaps(self, shared: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Widths (B, G) of all margins but the last, the tie's among them, and what each shared c adds to them."""
        n_gaps = self.margins - 1 + self.ties
        by_shared = np.eye(n_gaps, shared.shape[1]) - np.eye(n_gaps, shared.shape[1], k=-1)
        if self.ties:
            by_shared[0, 0] = 2
        return shared @ by_shared.T, by_shared

    def _between(self, counts: FloatArray) -> FloatArray:
        by_margin = self._by_margin(counts.sum(axis=1))
        return by_margin[:, 0 if self.ties else 1 : self.margins]

    def _by_margin(self, totals: FloatArray) -> FloatArray:
        """(B, K + 1) votes at margin 0 (ties) to K, of both sides."""
        k = self.margins
        return np.hstack([totals[:, 2 * k :], totals[:, :k] + totals[:, k : 2 * k]])


# A fit ends after the step that was to gain less than half of this in log-likelihood. Steps converge quadratically:
# what is left after that one is lost in rounding.
TOLERANCE = 1e-16
# Log-odds beyond this (1 : 1e13) between compared systems have no end: there is no maximum. What a side that was never
# beaten can still gain falls as they grow, but reaches the tolerance only beyond.
_UNBOUNDED = 30.0
_STEPS = 100
_HALVINGS = 40
# A smallest eigenvalue below this part of the largest means that some difference rests on no vote.
_FLAT = 1e-12


@dataclass(frozen=True)
class PairDesign:
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


def fit_strengths(
    design: PairDesign, model: PairModel, counts: FloatArray, *, start: FloatArray, covariance: bool = False
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
        parameters[rows], gain = _newton_step(design, model, counts[rows], parameters[rows])
        endless = _unbounded(design, counts[rows], parameters[rows])
        found[rows[endless]] = False
        rows = rows[~endless & (gain > TOLERANCE)]
    found[rows] = False
    spread = _covariance(design, model, counts, parameters) if covariance and found.all() else None
    return Fits(parameters, identified, found, spread)


def _newton_step(
    design: PairDesign, model: PairModel, counts: FloatArray, parameters: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """One Newton step, halved for a table as long as it would lose; and twice the gain it promised."""
    gradient, information = _derivatives(design, model, counts, parameters)
    step = np.linalg.solve(information + _hold_mean(design, information), gradient[..., None])[..., 0]
    gain = (gradient * step).sum(axis=1)
    before = _penalised_likelihood(design, model, counts, parameters)
    slack = 1e-10 * (1 + np.abs(before))  # rounding
    for _ in range(_HALVINGS):
        worse = ~(_penalised_likelihood(design, model, counts, parameters + step) >= before - slack)
        if not worse.any():
            break
        step[worse] /= 2
    moved = parameters + step
    moved[:, : design.n] -= moved[:, : design.n].mean(axis=1, keepdims=True)
    return moved, gain


def _penalised_likelihood(
    design: PairDesign, model: PairModel, counts: FloatArray, parameters: FloatArray
) -> FloatArray:
    d, shared = _strength_differences(design, parameters)
    penalty = design.ridge / 2 * (parameters[:, : design.n] ** 2).sum(axis=1)
    return np.asarray(model.log_likelihood(d, shared, counts) - penalty)


def _derivatives(
    design: PairDesign, model: PairModel, counts: FloatArray, parameters: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The gradient (B, M) and the negative Hessian (B, M, M)."""
    curvature = model.curvature(*_strength_differences(design, parameters), counts)
    n, lead = design.n, design.n + design.position
    gradient, information = np.zeros_like(parameters), np.zeros((*parameters.shape, parameters.shape[1]))
    gradient[:, :n] = _per_system(design, curvature.gradient) - design.ridge * parameters[:, :n]
    gradient[:, lead:] = curvature.shared_gradient
    information[:, :n, :n] = _laplacian(design, curvature.information) + design.ridge * np.eye(n)
    information[:, lead:, lead:] = curvature.shared_information
    borders = [
        (lead + q, curvature.cross_information[..., q]) for q in range(curvature.cross_information.shape[2])
    ]
    if design.position:
        gradient[:, n] = curvature.gradient.sum(axis=1)
        information[:, n, n] = curvature.information.sum(axis=1)
        information[:, n, lead:] = information[:, lead:, n] = curvature.cross_information.sum(axis=1)
        borders.append((n, curvature.information))
    for place, by_pair in borders:
        information[:, place, :n] = information[:, :n, place] = _per_system(design, by_pair)
    return gradient, information


def _strength_differences(design: PairDesign, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
    """d per pair, and the shared parameters."""
    d = parameters[:, design.one] - parameters[:, design.other]
    if design.position:
        d += parameters[:, design.n, None]
    return d, parameters[:, design.n + design.position :]


def _per_system(design: PairDesign, by_pair: FloatArray) -> FloatArray:
    square = _square(design, by_pair)
    return np.asarray(square.sum(axis=2) - square.sum(axis=1))


def _laplacian(design: PairDesign, by_pair: FloatArray) -> FloatArray:
    square = _square(design, by_pair)
    square += square.transpose(0, 2, 1).copy()
    degree = square.sum(axis=2)
    np.negative(square, out=square)
    diagonal = np.arange(design.n)
    square[:, diagonal, diagonal] += degree
    return square


def _square(design: PairDesign, by_pair: FloatArray) -> FloatArray:
    square = np.zeros((len(by_pair), design.n, design.n))
    square[:, design.one, design.other] = by_pair
    return square


def _hold_mean(design: PairDesign, information: FloatArray) -> FloatArray:
    """(B, M, M), added to the Hessian: holds the mean of the strengths, which no vote tells about, where it is."""
    held = np.zeros_like(information)
    size = np.trace(information, axis1=1, axis2=2) / information.shape[1] / design.n
    held[:, : design.n, : design.n] = size[:, None, None]
    return held


def _identified(
    design: PairDesign, model: PairModel, counts: FloatArray, parameters: FloatArray
) -> BoolArray:
    """Whether the strengths and the position effect can be told apart from the votes, a ridge left aside."""
    if not len(counts):
        return np.zeros(0, dtype=bool)
    d, shared = _strength_differences(design, parameters)
    plain = PairDesign(design.n, design.one, design.other, design.position)
    even = np.hstack([np.zeros((len(d), design.n + design.position)), shared])
    n_free = design.n + design.position
    information = _derivatives(plain, model, counts, even)[1][:, :n_free, :n_free]
    values = np.linalg.eigvalsh(information + _hold_mean(plain, information))
    return np.asarray(values[:, 0] > _FLAT * values[:, -1])


def _unbounded(design: PairDesign, counts: FloatArray, parameters: FloatArray) -> BoolArray:
    d, shared = _strength_differences(design, parameters)
    # A ridge bounds the strengths, so that only what they share can be endless.
    free = parameters[:, design.n : design.n + design.position] if design.ridge else d * counts.any(axis=2)
    # Odds are of sums of d and shared parameters, or of two of these.
    reach = np.abs(free).max(axis=1, initial=0) + 2 * np.abs(shared).max(axis=1, initial=0)
    return np.asarray(reach > _UNBOUNDED)


def _covariance(
    design: PairDesign, model: PairModel, counts: FloatArray, parameters: FloatArray
) -> FloatArray:
    _, information = _derivatives(design, model, counts, parameters)
    inverse = np.linalg.inv(information + _hold_mean(design, information))
    centre = np.eye(information.shape[1])
    centre[: design.n, : design.n] -= 1 / design.n
    return np.asarray(centre @ inverse @ centre)
