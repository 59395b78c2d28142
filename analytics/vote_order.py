"""An order of votes that the data decide and no database does, so that draws and sums come out alike everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from analytics.statistics.distinct_rows import IntArray

_Bits = np.ndarray[Any, np.dtype[np.uint64]]


def in_order(
    imported: IntArray, unit: IntArray, said: Sequence[np.ndarray[Any, Any]], rater: IntArray
) -> IntArray:
    """The rows in their order. Those that were imported come first, for no time of theirs is known: unit by unit, and
    within one as a hash of all that was `said` has them, since by value the lowest would pass for the first. Others
    stay as they are."""
    rows = np.flatnonzero(imported)
    # Votes that say the same are told apart by their raters, or not at all.
    order = np.lexsort((rater[rows], _mixed([unit[rows], *(column[rows] for column in said)]), unit[rows]))
    return np.concatenate([rows[order], np.flatnonzero(imported == 0)])


def as_they_come(ids: IntArray) -> IntArray:
    """Numbers from 0 on in place of ids, in the order of the rows that have them first."""
    _, first, number = np.unique(ids, return_index=True, return_inverse=True)
    place = np.empty(len(first), dtype=np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    return np.asarray(place[number])


def _mixed(columns: Sequence[np.ndarray[Any, Any]]) -> _Bits:
    """(n,) a hash of each row (the finaliser of SplitMix64 over its columns); every NaN is the same."""
    mixed = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        numbers = np.nan_to_num(column.astype(np.float64), nan=-1.5) + 0.0
        mixed = (mixed ^ numbers.view(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        mixed ^= mixed >> np.uint64(31)
    return mixed
