"""Finding the distinct rows of a sparse count table, in time and memory that follow its cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Row keys up to this are counted in an array, not sorted. Five categories reach it with 12 equal ratings.
_SMALL_SPAN = 2**18
# Numbers up to this are counted in an array where the order of the rows is found afterwards.
_TABLE_SPAN = 2**22
# Keys that pack several columns into one integer stay below this, well inside int64.
_KEY_SPAN = 2**62


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """Pattern, code and count of each cell, the multiplicity of each pattern, and which pattern each row is.

    which: (rows,) -1 for a row without cells.
    """

    pattern: IntArray
    code: IntArray
    count: IntArray
    multiplicity: IntArray
    which: IntArray


def distinct_count_rows(
    row: IntArray, code: IntArray, count: IntArray, *, width: int, multiplicity: IntArray
) -> DistinctRows:
    """Group equal rows of a table `width` columns wide; row[i] holds code[i] count[i] times.

    Cells come ascending by row, then code; `multiplicity` is how many units a row stands for. Patterns are
    ordered by their content, so that the order of the rows leaves no trace. Rows without cells vanish.
    """
    base = int(count.max(initial=0)) + 1
    if base ** min(width, 19) <= _SMALL_SPAN:  # 2^19 is past it: no need for the full power on long scales
        place = base ** np.arange(width)
        number = np.bincount(row, weights=count * place[code], minlength=len(multiplicity)).astype(np.int64)
        return distinct_numbers(number, base=base, width=width, multiplicity=multiplicity)
    return _sorted(row, code, count, multiplicity=multiplicity)


def distinct_numbers(number: IntArray, *, base: int, width: int, multiplicity: IntArray) -> DistinctRows:
    """Group rows that were read as numbers, column c holding digit c in the given base, and spell them out."""
    if base**width <= _TABLE_SPAN:
        times = np.bincount(number, weights=multiplicity).astype(np.int64)
        occurring = np.flatnonzero(times[1:]) + 1
        lookup = np.full(len(times), -1)
        lookup[occurring] = np.arange(len(occurring))
        which, times = lookup[number], times[occurring]
    else:
        occurring, which = np.unique(number, return_inverse=True)
        times = np.bincount(which, weights=multiplicity).astype(np.int64)
        kept = (occurring > 0) & (times > 0)
        which = np.where(kept, np.cumsum(kept) - 1, -1)[which]
        occurring, times = occurring[kept], times[kept]
    table = occurring[:, None] // base ** np.arange(width) % base
    pattern, codes = np.nonzero(table)
    return DistinctRows(pattern, codes, table[pattern, codes], times, which)


def _sorted(row: IntArray, code: IntArray, count: IntArray, *, multiplicity: IntArray) -> DistinctRows:
    """Compare rows with the same number of cells, cell by cell, however long the scale is."""
    length = np.bincount(row, minlength=len(multiplicity))
    start = np.cumsum(length) - length
    kept, lengths, times = ([np.zeros(0, dtype=np.int64)] for _ in range(3))
    which, found = np.full(len(multiplicity), -1), 0
    for k in np.unique(length[(length > 0) & (multiplicity > 0)]):
        rows = np.flatnonzero((length == k) & (multiplicity > 0))
        cells = start[rows, None] + np.arange(k)
        first, same = _distinct_rows(np.hstack([code[cells], count[cells]]))
        kept.append(cells[first].ravel())
        lengths.append(np.full(len(first), k))
        times.append(np.bincount(same, weights=multiplicity[rows]).astype(np.int64))
        which[rows] = found + same
        found += len(first)
    chosen, per_row = np.concatenate(kept), np.concatenate(lengths)
    pattern = np.repeat(np.arange(len(per_row)), per_row)
    return DistinctRows(pattern, code[chosen], count[chosen], np.concatenate(times), which)


def _distinct_rows(table: IntArray) -> tuple[IntArray, IntArray]:
    """First index of each distinct row in lexicographic order, and which of them each row is.

    Columns are packed into one integer key, re-numbered only when it would overflow: one integer sort is many
    times faster than comparing rows.
    """
    key, span = np.zeros(len(table), dtype=np.int64), 1
    for column in table.T:
        base = int(column.max()) + 1
        if span * base > _KEY_SPAN:
            key = np.unique(key, return_inverse=True)[1]
            span = int(key.max()) + 1
        key, span = key * base + column, span * base
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    return first, which
