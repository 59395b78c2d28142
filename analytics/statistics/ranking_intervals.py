"""How uncertain strengths and ranks are: from replicates of the votes, or from the information in them."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from analytics.statistics.distinct_rows import FloatArray, IntArray
from analytics.statistics.few_clusters import tails
from analytics.statistics.ranking_fit import Fits, fit
from analytics.statistics.ranking_models import BoolArray, Davidson
from analytics.statistics.ranking_tables import Table

Interval = tuple[float, float]

# Strengths that differ by less are equal: they are of order one.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Intervals:
    """Of each parameter, in the order of `Fits.parameters`, nu in place of its log; and of each system's rank.

    degenerate: how many replicates left the strengths undefined. reason: where there are no intervals.
    """

    parameters: list[Interval] | None = None
    ranks: list[tuple[int, int]] | None = None
    degenerate: int = 0
    reason: str | None = None


def ranks_of(strengths: FloatArray) -> IntArray:
    """1 for the strongest of each row; systems of equal strength share the better rank."""
    return np.asarray(1 + (strengths[:, None, :] > strengths[:, :, None] + _ROUNDING).sum(axis=2))


def natural(table: Table, parameters: FloatArray, counts: FloatArray) -> FloatArray:
    """Davidson's log nu as nu, which is 0 without ties."""
    if not (isinstance(table.model, Davidson) and table.model.ties):
        return parameters
    out = parameters.copy()
    out[:, -1] = np.where(counts[..., 2].sum(axis=1) > 0, np.exp(out[:, -1]), 0)
    return out


def between(valid: FloatArray, level: float, *, n: int, clusters: int) -> Interval | None:
    """The interval between quantiles of the replicates that are defined, if that is at least half of all `n`."""
    if 2 * len(valid) < n:
        return None
    low, high = np.quantile(valid, tails(level, clusters))
    return float(low), float(high)


class Collected:
    """The fits of one table's replicates, a piece at a time."""

    def __init__(self, table: Table, start: FloatArray) -> None:
        self._table, self._start = table, start
        self._parameters: list[FloatArray] = []
        self._found: list[BoolArray] = []

    def add(self, cells: FloatArray) -> None:
        counts = self._table.counts(cells)
        fits = fit(self._table.design, self._table.model, counts, start=self._start)
        self._parameters.append(natural(self._table, fits.parameters, counts))
        self._found.append(fits.found)

    def intervals(self, level: float, clusters: int) -> Intervals:
        """Between quantiles of the replicates; of the ranks, between the ranks that replicates had.

        clusters: what they were drawn from, which has to be `few_clusters.FEWEST` or more.
        """
        found = np.concatenate(self._found)
        degenerate = int((~found).sum())
        if 2 * degenerate > len(found):
            return Intervals(degenerate=degenerate, reason="mostly_undefined")
        parameters = np.concatenate(self._parameters)[found]
        quantiles = tails(level, clusters)
        ranks = ranks_of(parameters[:, : self._table.design.n])
        return Intervals(
            _as_pairs(np.quantile(parameters, quantiles, axis=0)),
            [
                (int(low), int(high))
                for low, high in np.quantile(ranks, quantiles, axis=0, method="inverted_cdf").T.tolist()
            ],
            degenerate,
        )


def from_information(table: Table, fits: Fits, *, level: float) -> Intervals:
    """Wald's intervals, as if all votes were independent.

    A system's ranks run from 1 + the systems certainly better to n - those certainly worse: where the interval of the
    difference of the two leaves out 0.
    """
    if fits.covariance is None:
        raise ValueError("These fits were made without their covariance.")
    z, n = NormalDist().inv_cdf((1 + level) / 2), table.design.n
    value, covariance = fits.parameters[0], fits.covariance[0]
    half = z * np.sqrt(np.diag(covariance))
    bounds = np.stack([value - half, value + half])
    if isinstance(table.model, Davidson) and table.model.ties:
        bounds[:, -1] = np.exp(bounds[:, -1])
    variance = np.diag(covariance)[:n]
    apart = variance[:, None] + variance[None, :] - 2 * covariance[:n, :n]
    lead = value[:n, None] - value[None, :n]
    certain = np.abs(lead) > z * np.sqrt(np.maximum(apart, 0)) + _ROUNDING
    better, worse = (certain & (lead < 0)).sum(axis=1), (certain & (lead > 0)).sum(axis=1)
    return Intervals(
        _as_pairs(bounds), [(1 + int(b), n - int(w)) for b, w in zip(better, worse, strict=True)]
    )


def _as_pairs(bounds: FloatArray) -> list[Interval]:
    return [(float(low), float(high)) for low, high in bounds.T]
