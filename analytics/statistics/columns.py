"""Long columns, one row per rating, as numbers from 0: which unit, which value. Dense whole numbers need no sorting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analytics.statistics.distinct_rows import FloatArray, IntArray

# Values this far apart and no more are looked up in a table.
_TABLE = 2**16


@dataclass(frozen=True, eq=False)
class Columns:
    """The N ratings that were given.

    given: which of the rows passed in have a rating, as a mask, or all of them.
    unit: (N,) numbers below `units`, not all of which need occur. values: (V,) ascending. code: (N,) into them.
    """

    given: NDArray[np.bool_] | slice
    unit: IntArray
    units: int
    values: FloatArray
    code: NDArray[np.uint8] | IntArray

    def cells(self) -> tuple[IntArray, IntArray, IntArray]:
        """Unit, code and count of the cells that are not zero, ascending by unit, then code."""
        width, span = max(len(self.values), 1), self.units * len(self.values)
        key = self.unit * width + self.code
        if span <= 4 * len(key):
            table = np.bincount(key, minlength=span)
            found = np.flatnonzero(table)
            count = table[found]
        else:
            found, count = np.unique(key, return_counts=True)
        unit, code = np.divmod(found, width)
        return unit, code, count


def read_columns(units: ArrayLike, values: ArrayLike) -> Columns:
    """A NaN or None among the values is a missing rating; raises ValueError for columns of unequal length."""
    unit, value = np.asarray(units), np.asarray(values)
    if unit.ndim != 1 or unit.shape != value.shape:
        raise ValueError(f"Units and values must be columns of equal length: {unit.shape}, {value.shape}.")
    given: NDArray[np.bool_] | slice = slice(None)
    if value.dtype.kind not in "iub":
        value = value.astype(np.float64, copy=False)
        missing = np.isnan(value)
        if missing.any():
            given = ~missing
            unit, value = unit[given], value[given]
    row = numbers(unit)
    domain, code = _coded(value)
    return Columns(given, row, int(row.max(initial=-1)) + 1, domain, code)


def numbers(labels: NDArray[np.generic], *, what: str = "unit") -> IntArray:
    """Number the labels from 0 in ascending order, with gaps where they are dense whole numbers with gaps."""
    if labels.dtype.kind in "iu" and labels.size:
        low, high = int(labels.min()), int(labels.max())
        if high - low < 4 * labels.size:
            as_int = labels.astype(np.int64, copy=False)
            return as_int if low == 0 else as_int - low
    if labels.dtype.kind in "fO" and any(label is None or label != label for label in labels.tolist()):
        raise ValueError(f"A rating names no {what}: its {what} identifier is missing.")
    return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.int64)


def _coded(value: NDArray[Any]) -> tuple[FloatArray, NDArray[np.uint8] | IntArray]:
    whole = _as_whole(value)
    if whole is None:
        domain, code = np.unique(value, return_inverse=True)
        return domain.astype(np.float64), code.astype(np.int64, copy=False)
    low = int(whole.min())
    offset = whole if low == 0 else whole - low
    occurs = np.bincount(offset) > 0
    domain, lookup = (np.flatnonzero(occurs) + low).astype(np.float64), np.cumsum(occurs) - 1
    if len(lookup) <= 256:
        return domain, lookup.astype(np.uint8)[offset]
    return domain, lookup[offset]


def _as_whole(value: NDArray[Any]) -> IntArray | None:
    """The values as whole numbers that lie close together, if that is what they are."""
    if not value.size:
        return None
    low, high = float(value.min()), float(value.max())
    if not (abs(low) < 2**52 and high - low < _TABLE):  # infinities end here too
        return None
    whole = value.astype(np.int64)
    return whole if value.dtype.kind in "iub" or bool((whole == value).all()) else None
