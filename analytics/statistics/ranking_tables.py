"""From cells of votes to the table a model is fitted to: pairs by outcome and margin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from analytics.statistics.distinct_rows import FloatArray, IntArray
from analytics.statistics.ranking_components import blocks
from analytics.statistics.ranking_counts import BOTH_BAD, FIRST, SECOND, TIE, Comparisons, summed
from analytics.statistics.ranking_fit import Design
from analytics.statistics.ranking_models import Davidson, Model, OrderedMargin

Confidence = Literal["ignore", "weight", "margin"]


@dataclass(frozen=True)
class Use:
    """What each cell of the comparisons counts for: 0 for both bad, and where a confidence is needed and missing."""

    weight: FloatArray
    without_confidence: int


@dataclass(frozen=True)
class Table:
    """The votes on one connected group of systems, as a design and where each cell of votes goes.

    cells: indexes into the comparisons' cells; slots: where they go among pairs x (2K + 1) outcomes.
    """

    design: Design
    model: Model
    cells: IntArray
    slots: IntArray
    weight: FloatArray

    @property
    def by_margin(self) -> bool:
        return isinstance(self.model, OrderedMargin)

    def counts(self, cells: FloatArray) -> FloatArray:
        """(B, pairs, 2K + 1) from the counts of all cells (B, cells)."""
        width = 2 * self.model.margins + 1
        flat = summed(cells[:, self.cells] * self.weight, self.slots, size=len(self.design.one) * width)
        return flat.reshape(len(cells), -1, width)


def use_of(comparisons: Comparisons, confidence: Confidence, weights: Mapping[float, float] | None) -> Use:
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
    return Use(weight, int(comparisons.count[missing].sum()) if needed else 0)


def table_of(
    comparisons: Comparisons, use: Use, systems: IntArray, *, by_margin: bool, position: bool, ridge: float
) -> Table:
    """The table of a connected group with at least one decided vote."""
    cells, one, other = _inside(comparisons, use, systems)
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
    model: Model = OrderedMargin(bool(tied.any()), margins) if by_margin else Davidson(bool(tied.any()))
    return Table(
        design=Design(n, pairs // n, pairs % n, position, ridge),
        model=model,
        cells=cells,
        slots=pair * (2 * margins + 1) + np.where(tied, 2 * margins, outcome * margins + margin),
        weight=use.weight[cells],
    )


def blocks_of(comparisons: Comparisons, use: Use, systems: IntArray) -> list[IntArray]:
    """See `ranking_components.blocks`: of a connected group, as indexes into the study's systems."""
    cells, one, other = _inside(comparisons, use, systems)
    # Preferred, or tied with.
    first, second = (comparisons.outcome[cells] != role for role in (SECOND, FIRST))
    preferred, over = np.concatenate([one[first], other[second]]), np.concatenate([other[first], one[second]])
    return [systems[block] for block in blocks(len(systems), preferred=preferred, over=over)]


def _inside(comparisons: Comparisons, use: Use, systems: IntArray) -> tuple[IntArray, IntArray, IntArray]:
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
    found = np.array([float(weights[level]) for level in levels])
    if not (np.isfinite(found) & (found >= 0)).all():
        raise ValueError("A weight is a finite number of zero or more.")
    return found
