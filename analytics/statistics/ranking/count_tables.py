"""Count tables that ranking models are fitted to: pairs by outcome and margin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from analytics.statistics.arrays import FloatArray, IntArray
from analytics.statistics.ranking.bradley_terry import Davidson, OrderedMargin, PairDesign, PairModel
from analytics.statistics.ranking.comparisons import BOTH_BAD, FIRST, SECOND, TIE, Comparisons, sum_by_key

# Which systems can be compared at all, and which groups of them never lost to the rest.


def connected_systems(n: int, *, one: IntArray, other: IntArray) -> list[IntArray]:
    """The systems that comparisons join, directly or by way of others: largest group first, then by number."""
    from scipy.sparse import csgraph  # takes a moment to load: only with a ranking

    _, label = csgraph.connected_components(_sparse_graph(n, one, other), directed=False)
    return sorted(_groups(label), key=lambda group: (-len(group), group[0]))


def strong_components(n: int, *, preferred: IntArray, over: IntArray) -> list[IntArray]:
    """Groups within which every system was preferred to every other, directly or by way of others; best first.

    Ties are given as both ways. With more than one block, an upper one never lost to a lower one, and nothing bounds
    how much better it is.
    """
    from scipy.sparse import csgraph

    graph = _sparse_graph(n, preferred, over)
    _, label = csgraph.connected_components(graph, directed=True, connection="strong")
    reach = np.isfinite(csgraph.shortest_path(graph, unweighted=True)).sum(axis=1)
    return sorted(_groups(label), key=lambda group: (-reach[group[0]], group[0]))


def _groups(label: IntArray) -> list[IntArray]:
    return [np.flatnonzero(label == number) for number in range(int(label.max(initial=-1)) + 1)]


def _sparse_graph(n: int, start: IntArray, end: IntArray) -> object:
    from scipy import sparse

    return sparse.csr_array((np.ones(len(start)), (start, end)), shape=(n, n))


ConfidenceUse = Literal["ignore", "weight", "margin"]


@dataclass(frozen=True)
class CellWeights:
    """What each cell of the comparisons counts for: 0 for both bad, and where a confidence is needed and missing."""

    weight: FloatArray
    without_confidence: int


@dataclass(frozen=True)
class CountTable:
    """The votes on one connected group of systems, as a design and where each cell of votes goes.

    cells: indexes into the comparisons' cells; slots: where they go among pairs x (2K + 1) outcomes.
    """

    design: PairDesign
    model: PairModel
    cells: IntArray
    slots: IntArray
    weight: FloatArray

    @property
    def by_margin(self) -> bool:
        return isinstance(self.model, OrderedMargin)

    def counts(self, cells: FloatArray) -> FloatArray:
        """(B, pairs, 2K + 1) from the counts of all cells (B, cells)."""
        width = 2 * self.model.margins + 1
        flat = sum_by_key(cells[:, self.cells] * self.weight, self.slots, size=len(self.design.one) * width)
        return flat.reshape(len(cells), -1, width)


def cell_weights(
    comparisons: Comparisons, confidence: ConfidenceUse, weights: Mapping[float, float] | None
) -> CellWeights:
    """Raises ValueError for weights that are missing, negative or not finite."""
    outcome, level = comparisons.outcome, comparisons.level
    weight = np.ones(len(outcome))
    if confidence == "weight":
        weight = np.append(_level_weights(comparisons.confidence_levels, weights), 0.0)[level]
    missing = (level < 0) & (outcome != BOTH_BAD)
    if confidence == "margin":
        missing &= outcome != TIE  # a tie is a margin of 0, however sure
        weight[missing] = 0
    weight[outcome == BOTH_BAD] = 0
    needed = confidence != "ignore"
    return CellWeights(weight, int(comparisons.count[missing].sum()) if needed else 0)


def count_table(
    comparisons: Comparisons,
    use: CellWeights,
    systems: IntArray,
    *,
    by_margin: bool,
    position: bool,
    ridge: float,
) -> CountTable:
    """The table of a connected group with at least one decided vote."""
    cells, one, other = _cells_of_group(comparisons, use, systems)
    outcome, level = comparisons.outcome[cells], comparisons.level[cells]
    tied = outcome == TIE
    if not position:
        swapped = one > other
        one, other = np.where(swapped, other, one), np.where(swapped, one, other)
        outcome = np.where(swapped & ~tied, FIRST + SECOND - outcome, outcome)
    margins, margin = 1, np.zeros_like(level)
    if by_margin:
        present, margin = np.unique(np.where(tied, level[~tied].max(), level), return_inverse=True)
        margins = len(present)
    n = len(systems)
    pairs, pair = np.unique(one * n + other, return_inverse=True)
    model: PairModel = OrderedMargin(bool(tied.any()), margins) if by_margin else Davidson(bool(tied.any()))
    return CountTable(
        design=PairDesign(n, pairs // n, pairs % n, position, ridge),
        model=model,
        cells=cells,
        slots=pair * (2 * margins + 1) + np.where(tied, 2 * margins, outcome * margins + margin),
        weight=use.weight[cells],
    )


def undefeated_blocks(comparisons: Comparisons, use: CellWeights, systems: IntArray) -> list[IntArray]:
    """The `strong_components` of a connected group, as indexes into the study's systems."""
    cells, one, other = _cells_of_group(comparisons, use, systems)
    # Preferred, or tied with.
    first, second = (comparisons.outcome[cells] != role for role in (SECOND, FIRST))
    preferred, over = np.concatenate([one[first], other[second]]), np.concatenate([other[first], one[second]])
    return [systems[block] for block in strong_components(len(systems), preferred=preferred, over=over)]


def _cells_of_group(
    comparisons: Comparisons, use: CellWeights, systems: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """The cells on a connected group that count, and their systems as places in the group."""
    inside = np.zeros(len(comparisons.systems), dtype=bool)
    inside[systems] = True
    cells = np.flatnonzero((use.weight > 0) & inside[comparisons.first])
    place = np.cumsum(inside) - 1
    return cells, place[comparisons.first[cells]], place[comparisons.second[cells]]


def _level_weights(levels: tuple[float, ...], weights: Mapping[float, float] | None) -> FloatArray:
    if weights is None:
        if levels and levels[0] <= 0:
            raise ValueError(f"A confidence of {levels[0]:g} weighs nothing: say what each is worth.")
        return np.array([level / levels[-1] for level in levels])
    unknown = [level for level in levels if level not in weights]
    if unknown:
        raise ValueError(f"No weight is given for a confidence of {unknown[0]:g}.")
    values = np.array([float(weights[level]) for level in levels])
    if not (np.isfinite(values) & (values >= 0)).all():
        raise ValueError("A weight is a finite number of zero or more.")
    return values
