"""Pairwise comparisons, counted: wins, losses and ties behind win rates and rankings.

A vote is one cell of a table: the system shown first, the one shown second, the outcome and the confidence. Everything
downstream reads the table, never the votes, so no figure depends on their order and none costs more for more of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analytics.statistics.arrays import FloatArray, IntArray

FIRST, SECOND, TIE, BOTH_BAD = OUTCOMES = range(4)

# Tables up to this are counted in an array, larger ones by sorting.
_SMALL_SPAN = 2**22


@dataclass(frozen=True)
class ClusterCounts:
    """A table per cluster, as a list of non-empty cells: cluster[k] holds count[k] votes of cell[k].

    Sorted by cluster, which are numbered from 0 to size - 1 in the order of the caller's numbers.
    """

    size: int
    cluster: IntArray
    cell: IntArray
    count: IntArray


@dataclass(frozen=True)
class Comparisons:
    """The count table of a study's pairwise votes, and the same by cluster (rater, prompt).

    Per cell: `first` and `second` are indexes into `systems`, `outcome` one of OUTCOMES, `level` an index into the
    ascending `confidence_levels`, or -1 for votes without a confidence. Cells are distinct, sorted and not empty.
    """

    systems: tuple[str, ...]
    confidence_levels: tuple[float, ...]
    first: IntArray
    second: IntArray
    outcome: IntArray
    level: IntArray
    count: IntArray
    clusters: Mapping[str, ClusterCounts]

    @property
    def votes(self) -> int:
        return int(self.count.sum())


def code_names(names: Iterable[str]) -> tuple[tuple[str, ...], IntArray]:
    """The distinct names, sorted, and the index of each name among them."""
    distinct, index = np.unique(list(names), return_inverse=True)
    return tuple(distinct.tolist()), index


def count_comparisons(
    systems: Sequence[str],
    first: ArrayLike,
    second: ArrayLike,
    outcome: ArrayLike,
    *,
    confidence: ArrayLike | None = None,
    clusters: Mapping[str, ArrayLike] | None = None,
    votes: ArrayLike | None = None,
) -> Comparisons:
    """Count rows of (first shown, second shown, outcome), each of one vote or of votes[k] equal ones.

    `first` and `second` are indexes into `systems`; `confidence` is NaN where none was given; `clusters` holds whole
    numbers per row, such as {"rater": ..., "prompt": ...}. Rows may come in any order and grouped in any way: the
    result is the same. Raises ValueError for rows that are no comparison and for columns of different lengths.
    """
    left, right, result = (_whole_numbers(column) for column in (first, second, outcome))
    times = np.ones(len(left), dtype=np.int64) if votes is None else _whole_numbers(votes)
    columns = {name: _whole_numbers(column) for name, column in (clusters or {}).items()}
    levels, level = _confidence_levels(confidence, n=len(left))
    _check_rows(systems, left, right, result, level, times, *columns.values())
    rows = times > 0
    n = len(systems)
    key = ((left * n + right) * len(OUTCOMES) + result) * (len(levels) + 1) + level + 1
    key, times = key[rows], times[rows]
    occurring, cell, count = _group_keys(key, times, span=n * n * len(OUTCOMES) * (len(levels) + 1))
    rest, level_of = np.divmod(occurring, len(levels) + 1)
    pair, outcome_of = np.divmod(rest, len(OUTCOMES))
    return Comparisons(
        systems=tuple(systems),
        confidence_levels=levels,
        first=pair // max(n, 1),
        second=pair % max(n, 1),
        outcome=outcome_of,
        level=level_of - 1,
        count=count,
        clusters={
            name: _count_by_cluster(column[rows], cell, times, n_cells=len(count))
            for name, column in columns.items()
        },
    )


def sum_by_key(columns: FloatArray, keys: IntArray, *, size: int) -> FloatArray:
    """(B, size): the columns of (B, N) that share a key added up."""
    total = np.zeros((len(columns), size))
    if len(keys):
        order = np.argsort(keys, kind="stable")
        starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
        total[:, keys[order][starts]] = np.add.reduceat(columns[:, order], starts, axis=1)
    return total


def _whole_numbers(column: ArrayLike) -> IntArray:
    array = np.asarray(column)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(
            f"Systems, outcomes, clusters and votes come as whole numbers in a row; got {array.dtype}."
        )
    return array.astype(np.int64, copy=False)


def _confidence_levels(confidence: ArrayLike | None, *, n: int) -> tuple[tuple[float, ...], IntArray]:
    if confidence is None:
        return (), np.full(n, -1, dtype=np.int64)
    values = np.asarray(confidence, dtype=np.float64)
    if np.isinf(values).any():
        raise ValueError("A confidence is a finite number, or NaN where none was given.")
    stated = ~np.isnan(values)
    levels, index = np.unique(values[stated], return_inverse=True)
    level = np.full(len(values), -1, dtype=np.int64)
    level[stated] = index
    return tuple(levels.tolist()), level


def _check_rows(
    systems: Sequence[str], left: IntArray, right: IntArray, outcome: IntArray, *others: IntArray
) -> None:
    lengths = {len(column) for column in (left, right, outcome, *others)}
    if len(lengths) > 1:
        raise ValueError(f"All columns need as many rows; found {sorted(lengths)}.")
    if len(set(systems)) < len(systems):
        raise ValueError("A system is named twice.")
    for column in (left, right):
        if len(column) and not 0 <= column.min() <= column.max() < len(systems):
            raise ValueError(f"A row names a system outside 0 to {len(systems) - 1}.")
    if len(outcome) and not 0 <= outcome.min() <= outcome.max() < len(OUTCOMES):
        raise ValueError("An outcome is 0 (first), 1 (second), 2 (tie) or 3 (both bad).")
    if (left == right).any():
        raise ValueError(f"System {systems[int(left[left == right][0])]!r} is compared with itself.")
    if len(others[1]) and others[1].min() < 0:
        raise ValueError("A row stands for fewer than no votes.")


def _group_keys(key: IntArray, times: IntArray, *, span: int) -> tuple[IntArray, IntArray, IntArray]:
    """The distinct keys ascending, the index of each row's key among them, and their votes."""
    if span > _SMALL_SPAN:
        occurring, index = np.unique(key, return_inverse=True)
        return occurring, index, np.bincount(index, weights=times, minlength=len(occurring)).astype(np.int64)
    table = np.bincount(key, weights=times, minlength=span).astype(np.int64)
    occurring = np.flatnonzero(table)
    place = np.zeros(span, dtype=np.int64)
    place[occurring] = np.arange(len(occurring))
    return occurring, place[key], table[occurring]


def _count_by_cluster(cluster: IntArray, cell: IntArray, times: IntArray, *, n_cells: int) -> ClusterCounts:
    lowest, highest = (int(cluster.min()), int(cluster.max())) if len(cluster) else (0, 0)
    # Numbers far apart, such as database keys, are renumbered by sorting; close ones by counting.
    distinct, number, _ = _group_keys(cluster - lowest, np.ones_like(times), span=highest - lowest + 1)
    key, _, count = _group_keys(number * n_cells + cell, times, span=len(distinct) * n_cells)
    return ClusterCounts(len(distinct), *np.divmod(key, max(n_cells, 1)), count)


# How often systems were preferred: over all opponents, and pair by pair.


@dataclass(frozen=True)
class VoteTallies:
    """Votes per system, each (B, systems): one row, or one per replicate. Both sides of a vote count it."""

    wins: FloatArray
    losses: FloatArray
    ties: FloatArray
    both_bad: FloatArray

    @property
    def rate(self) -> FloatArray:
        """(wins + ties / 2) / (wins + losses + ties); NaN where that is of none. Both bad says nothing here."""
        with np.errstate(invalid="ignore"):
            return np.asarray((self.wins + self.ties / 2) / (self.wins + self.losses + self.ties))


@dataclass(frozen=True)
class PairCounts:
    """The votes on two systems, in whichever order they were shown; `one` comes first in the list of systems.

    shown_first: how many of the votes showed `one` first.
    """

    one: str
    other: str
    one_wins: int
    other_wins: int
    ties: int
    both_bad: int
    shown_first: int

    @property
    def share(self) -> float | None:
        """Of the votes that preferred one of the two, the share for `one`; None where there is none."""
        decided = self.one_wins + self.other_wins
        return self.one_wins / decided if decided else None


def tally_votes(comparisons: Comparisons, counts: FloatArray) -> VoteTallies:
    """From the counts (B, cells) of the table, or of replicates of it."""
    n, first, second = len(comparisons.systems), comparisons.first, comparisons.second

    def votes(*roles: tuple[int, IntArray]) -> FloatArray:
        total = np.zeros((len(counts), n))
        for outcome, system in roles:
            chosen = comparisons.outcome == outcome
            total += sum_by_key(counts[:, chosen], system[chosen], size=n)
        return total

    return VoteTallies(
        wins=votes((FIRST, first), (SECOND, second)),
        losses=votes((FIRST, second), (SECOND, first)),
        ties=votes((TIE, first), (TIE, second)),
        both_bad=votes((BOTH_BAD, first), (BOTH_BAD, second)),
    )


def count_pairs(comparisons: Comparisons) -> list[PairCounts]:
    """All pairs that were compared, in the order of the systems."""
    n = len(comparisons.systems)
    first, second, outcome = comparisons.first, comparisons.second, comparisons.outcome
    swapped = first > second
    seen = np.where(swapped & (outcome < TIE), FIRST + SECOND - outcome, outcome)
    key = np.minimum(first, second) * n + np.maximum(first, second)
    occurring, row = np.unique(key, return_inverse=True)
    outcomes = np.bincount(row * 4 + seen, weights=comparisons.count, minlength=4 * len(occurring))
    in_order = np.bincount(row, weights=comparisons.count * ~swapped, minlength=len(occurring))
    table = np.column_stack([outcomes.reshape(-1, 4), in_order]).astype(np.int64)
    return [
        PairCounts(comparisons.systems[pair // n], comparisons.systems[pair % n], *numbers)
        for pair, numbers in zip(occurring.tolist(), table.tolist(), strict=True)
    ]
