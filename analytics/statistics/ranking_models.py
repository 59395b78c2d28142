"""What is likely when two systems are compared: Davidson's model of ties and an ordered model of margins.

Both take d, the difference of two log-strengths (plus what being shown first is worth), per pair, and parameters that
all pairs share. Both log-likelihoods are concave, so Newton's method finds the one maximum there is. Counts are
(B, P, 2K + 1): per replicate and pair the wins of the one side by margin 1..K, those of the other, and the ties.

Davidson, "On extending the Bradley-Terry model to accommodate ties in paired comparison experiments", JASA 65, 1970.
Agresti, "Analysis of ordinal paired comparison data", Applied Statistics 41, 1992 (cumulative logits; with one margin
it is the model of Rao and Kupper, JASA 62, 1967).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from analytics.statistics.distinct_rows import FloatArray

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Curvature:
    """First derivatives of the log-likelihood and second ones with their sign turned.

    slope, bend: by d, (B, P). shared_slope (B, Q), shared_bend (B, Q, Q): by the Q shared parameters.
    cross_bend: by d and each of those, (B, P, Q).
    """

    slope: FloatArray
    bend: FloatArray
    shared_slope: FloatArray
    cross_bend: FloatArray
    shared_bend: FloatArray


class Model(Protocol):
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
        shared_bend = (n * tie * (1 - tie)).sum(axis=1)
        return Curvature(
            slope=(counts[..., 0] - counts[..., 1] - n * lead) / 2,
            bend=n * (one + other - lead**2) / 4,
            shared_slope=(counts[..., 2] - n * tie).sum(axis=1)[:, None][:, :q],
            cross_bend=(-n * tie * lead / 2)[:, :, None][:, :, :q],
            # Without ties the log of nu has nothing to go by: it stays, whatever it is divided by.
            shared_bend=np.where(shared_bend > 0, shared_bend, 1)[:, None, None][:, :q, :q],
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
        slope, bend = above - (above + below) * chance, (above + below) * chance * (1 - chance)
        sides = np.array([1.0, -1.0])[:, None]
        gaps, by_shared = self._gaps(shared)
        between, opened = self._between(counts), np.expm1(gaps)
        free = slice(0 if self.ties else 1, None)
        own = np.zeros((len(d), shared.shape[1], shared.shape[1]))
        diagonal = np.arange(shared.shape[1])
        own[:, diagonal, diagonal] = bend.sum(axis=(1, 2))[:, free]
        return Curvature(
            slope=(sides * slope).sum(axis=(2, 3)),
            bend=bend.sum(axis=(2, 3)),
            shared_slope=-slope.sum(axis=(1, 2))[:, free] + (between / opened) @ by_shared,
            cross_bend=-(sides * bend).sum(axis=2)[..., free],
            shared_bend=own
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
