"""Which systems can be compared at all, and which groups of them never lost to the rest."""

from __future__ import annotations

import numpy as np

from analytics.statistics.distinct_rows import IntArray


def components(n: int, *, one: IntArray, other: IntArray) -> list[IntArray]:
    """The systems that comparisons join, directly or by way of others: largest group first, then by number."""
    from scipy.sparse import csgraph  # takes a moment to load: only with a ranking

    _, label = csgraph.connected_components(_graph(n, one, other), directed=False)
    groups = [np.flatnonzero(label == number) for number in range(int(label.max(initial=-1)) + 1)]
    return sorted(groups, key=lambda group: (-len(group), group[0]))


def blocks(n: int, *, preferred: IntArray, over: IntArray) -> list[IntArray]:
    """Groups within which every system was preferred to every other, directly or by way of others; best first.

    Ties are given as both ways. With more than one block, an upper one never lost to a lower one, and nothing bounds
    how much better it is.
    """
    from scipy.sparse import csgraph

    graph = _graph(n, preferred, over)
    _, label = csgraph.connected_components(graph, directed=True, connection="strong")
    reach = np.isfinite(csgraph.shortest_path(graph, unweighted=True)).sum(axis=1)
    groups = [np.flatnonzero(label == number) for number in range(int(label.max(initial=-1)) + 1)]
    return sorted(groups, key=lambda group: (-reach[group[0]], group[0]))


def _graph(n: int, start: IntArray, end: IntArray) -> object:
    from scipy import sparse

    return sparse.csr_array((np.ones(len(start)), (start, end)), shape=(n, n))
