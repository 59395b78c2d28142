"""Resampled count tables: what the study might have counted with other raters, other prompts or other votes.

Raters (or prompts) are drawn with replacement, each with all their votes, by weighing their tables: no vote is read
again. With few clusters plain intervals between quantiles come out too narrow: see `few_clusters`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analytics.statistics.bootstrap import Resampling, resamples
from analytics.statistics.distinct_rows import FloatArray
from analytics.statistics.ranking_counts import ClusterCounts, Comparisons

VOTES = "votes"

# How many numbers a piece of the work may hold at once.
_CELLS = 4_000_000


def replicate_counts(comparisons: Comparisons, *, by: str, resampling: Resampling) -> Iterator[FloatArray]:
    """Pieces (B, cells) of `resampling.replicates` tables, drawn by VOTES or by a clustering of that name."""
    n_cells = len(comparisons.count)
    # A fit holds a square of systems per table.
    rows = max(1, _CELLS // max(n_cells, len(comparisons.systems) ** 2, 1))
    drawn = _by_vote(comparisons, resampling) if by == VOTES else _by_cluster(comparisons, by, resampling)
    for piece in drawn:
        for start in range(0, len(piece), rows):
            weights = piece[start : start + rows]
            yield weights if by == VOTES else _weighed(comparisons.clusters[by], weights, n_cells=n_cells)


def n_clusters(comparisons: Comparisons, *, by: str) -> int:
    """Raises ValueError for a clustering that was not counted."""
    if by == VOTES:
        return comparisons.votes
    if by not in comparisons.clusters:
        known = ", ".join([VOTES, *comparisons.clusters])
        raise ValueError(f"Votes were not counted by {by!r}; known are {known}.")
    return comparisons.clusters[by].size


def _by_vote(comparisons: Comparisons, resampling: Resampling) -> Iterator[FloatArray]:
    rng, share = np.random.default_rng(resampling.seed), comparisons.count / comparisons.votes
    at_once = max(1, _CELLS // len(share))
    for start in range(0, resampling.replicates, at_once):
        rows = min(at_once, resampling.replicates - start)
        yield rng.multinomial(comparisons.votes, share, size=rows).astype(np.float64)


def _by_cluster(comparisons: Comparisons, by: str, resampling: Resampling) -> Iterator[FloatArray]:
    size = comparisons.clusters[by].size
    return resamples(np.arange(size), size, resampling)


def _weighed(table: ClusterCounts, weights: FloatArray, *, n_cells: int) -> FloatArray:
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
