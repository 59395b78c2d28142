"""Confidence intervals of strengths and ranks: from replicates of the votes, or from the information in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from analytics.statistics.arrays import BoolArray, FloatArray, IntArray
from analytics.statistics.bootstrap import Interval, Resampling, multinomial_weights, resample_weights
from analytics.statistics.intervals import expanded_percentiles
from analytics.statistics.ranking.bradley_terry import Davidson, Fits, fit_strengths
from analytics.statistics.ranking.comparisons import ClusterCounts, Comparisons
from analytics.statistics.ranking.count_tables import CountTable

# Strengths that differ by less are equal: they are of order one.
_EQUAL_STRENGTHS = 1e-9


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
    return np.asarray(1 + (strengths[:, None, :] > strengths[:, :, None] + _EQUAL_STRENGTHS).sum(axis=2))


def natural_scale(table: CountTable, parameters: FloatArray, counts: FloatArray) -> FloatArray:
    """Davidson's log nu as nu, which is 0 without ties."""
    if not (isinstance(table.model, Davidson) and table.model.ties):
        return parameters
    out = parameters.copy()
    out[:, -1] = np.where(counts[..., 2].sum(axis=1) > 0, np.exp(out[:, -1]), 0)
    return out


class ReplicateFits:
    """The fits of one table's replicates, a piece at a time."""

    def __init__(self, table: CountTable, start: FloatArray) -> None:
        self._table, self._start = table, start
        self._parameters: list[FloatArray] = []
        self._found: list[BoolArray] = []

    def add(self, cells: FloatArray) -> None:
        counts = self._table.counts(cells)
        fits = fit_strengths(self._table.design, self._table.model, counts, start=self._start)
        self._parameters.append(natural_scale(self._table, fits.parameters, counts))
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
        quantiles = expanded_percentiles(level, clusters)
        ranks = ranks_of(parameters[:, : self._table.design.n])
        return Intervals(
            _as_pairs(np.quantile(parameters, quantiles, axis=0)),
            [
                (int(low), int(high))
                for low, high in np.quantile(ranks, quantiles, axis=0, method="inverted_cdf").T.tolist()
            ],
            degenerate,
        )


def wald_intervals(table: CountTable, fits: Fits, *, level: float) -> Intervals:
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
    certain = np.abs(lead) > z * np.sqrt(np.maximum(apart, 0)) + _EQUAL_STRENGTHS
    better, worse = (certain & (lead < 0)).sum(axis=1), (certain & (lead > 0)).sum(axis=1)
    return Intervals(
        _as_pairs(bounds), [(1 + int(b), n - int(w)) for b, w in zip(better, worse, strict=True)]
    )


def _as_pairs(bounds: FloatArray) -> list[Interval]:
    return [(float(low), float(high)) for low, high in bounds.T]


# Resampled count tables: what the study might have counted with other raters, other prompts or other votes.
# Raters (or prompts) are drawn with replacement, each with all their votes, by weighing their tables: no
# vote is read again. With few clusters plain intervals between quantiles come out too narrow: see
# `intervals`.


VOTES = "votes"

# How many numbers a piece of the work may hold at once.
_CELLS = 4_000_000


def replicate_counts(comparisons: Comparisons, *, by: str, resampling: Resampling) -> Iterator[FloatArray]:
    """Pieces (B, cells) of `resampling.replicates` tables, drawn by VOTES or by a clustering of that name."""
    n_cells = len(comparisons.count)
    # A fit holds a square of systems per table.
    rows = max(1, _CELLS // max(n_cells, len(comparisons.systems) ** 2, 1))
    drawn = (
        multinomial_weights(comparisons.count, resampling)
        if by == VOTES
        else _draw_clusters(comparisons, by, resampling)
    )
    for piece in drawn:
        for start in range(0, len(piece), rows):
            weights = piece[start : start + rows]
            yield (
                weights
                if by == VOTES
                else _weighted_counts(comparisons.clusters[by], weights, n_cells=n_cells)
            )


def count_clusters(comparisons: Comparisons, *, by: str) -> int:
    """Raises ValueError for a clustering that was not counted."""
    if by == VOTES:
        return comparisons.votes
    if by not in comparisons.clusters:
        known = ", ".join([VOTES, *comparisons.clusters])
        raise ValueError(f"Votes were not counted by {by!r}; known are {known}.")
    return comparisons.clusters[by].size


def _draw_clusters(comparisons: Comparisons, by: str, resampling: Resampling) -> Iterator[FloatArray]:
    size = comparisons.clusters[by].size
    return resample_weights(np.arange(size), size, resampling)


def _weighted_counts(table: ClusterCounts, weights: FloatArray, *, n_cells: int) -> FloatArray:
    """weights (B, clusters) times the table (clusters, cells), which is spelled out a few clusters at a time."""
    total = np.zeros((len(weights), n_cells))
    step = max(1, _CELLS // n_cells)
    for start in range(0, table.size, step):
        stop = min(start + step, table.size)
        part = slice(*np.searchsorted(table.cluster, [start, stop]))
        spelled = np.zeros((stop - start, n_cells))
        spelled[table.cluster[part] - start, table.cell[part]] = table.count[part]
        total += weights[:, start:stop] @ spelled
    return total
