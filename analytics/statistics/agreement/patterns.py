"""Reliability data as distinct count rows (units by value).

Krippendorff's alpha and every form of percent agreement depend on a unit only through how often each value
was given to it. A million units rated 1-5 by two to five people show at most 246 different count rows, so the
distinct rows and how many units have each are all that these statistics ever need.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analytics.statistics.arrays import FloatArray, IntArray

# Long columns, one row per rating, as numbers from 0: which unit, which value. Dense whole numbers need no
# sorting.


# Values this far apart and no more are looked up in a table.
_WIDEST_LOOKUP = 2**16


@dataclass(frozen=True, eq=False)
class RatingColumns:
    """The N ratings that were given.

    rated: which of the rows passed in have a rating, as a mask, or all of them.
    unit: (N,) numbers below `units`, not all of which need occur. values: (V,) ascending. code: (N,) into them.
    """

    rated: NDArray[np.bool_] | slice
    unit: IntArray
    units: int
    values: FloatArray
    code: NDArray[np.uint8] | IntArray

    def cells(self) -> tuple[IntArray, IntArray, IntArray]:
        """Unit, code and count of the cells that are not zero, ascending by unit, then code."""
        width, span = max(len(self.values), 1), self.units * len(self.values)
        key = self.unit * width + self.code
        if span <= 4 * len(key):
            occurring, count = counted_in_table(key, span)
        else:
            occurring, count = np.unique(key, return_counts=True)
        unit, code = np.divmod(occurring, width)
        return unit, code, count


def read_columns(units: ArrayLike, values: ArrayLike) -> RatingColumns:
    """A NaN or None among the values is a missing rating; raises ValueError for columns of unequal length."""
    unit, value = np.asarray(units), np.asarray(values)
    if unit.ndim != 1 or unit.shape != value.shape:
        raise ValueError(f"Units and values must be columns of equal length: {unit.shape}, {value.shape}.")
    rated: NDArray[np.bool_] | slice = slice(None)
    if value.dtype.kind not in "iub":
        value = value.astype(np.float64, copy=False)
        missing = np.isnan(value)
        if missing.any():
            rated = ~missing
            unit, value = unit[rated], value[rated]
    row = number_labels(unit)
    domain, code = _code_values(value)
    return RatingColumns(rated, row, int(row.max(initial=-1)) + 1, domain, code)


def number_labels(labels: NDArray[np.generic], *, what: str = "unit") -> IntArray:
    """Number the labels from 0 in ascending order, with gaps where they are dense whole numbers with gaps."""
    if labels.dtype.kind in "iu" and labels.size:
        low, high = int(labels.min()), int(labels.max())
        if high - low < 4 * labels.size:
            as_int = labels.astype(np.int64, copy=False)
            return as_int if low == 0 else as_int - low
    if labels.dtype.kind in "fO" and any(label is None or label != label for label in labels.tolist()):
        raise ValueError(f"A rating names no {what}: its {what} identifier is missing.")
    return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.int64)


def _code_values(value: NDArray[Any]) -> tuple[FloatArray, NDArray[np.uint8] | IntArray]:
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
    if not (abs(low) < 2**52 and high - low < _WIDEST_LOOKUP):  # infinities end here too
        return None
    whole = value.astype(np.int64)
    return whole if value.dtype.kind in "iub" or bool((whole == value).all()) else None


def counted_in_table(key: IntArray, span: int) -> tuple[IntArray, IntArray]:
    """The distinct keys, all below `span`, in ascending order, and how often each occurs."""
    table = np.bincount(key, minlength=span)
    occurring = np.flatnonzero(table)
    return occurring, table[occurring]


# Finding the distinct rows of a sparse count table, in time and memory that follow its cells.


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

    def patterns(self, values: FloatArray) -> Patterns:
        return Patterns(values, self.pattern, self.code, self.count, self.multiplicity)


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
    return _distinct_by_sorting(row, code, count, multiplicity=multiplicity)


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
        counted = (occurring > 0) & (times > 0)
        which = np.where(counted, np.cumsum(counted) - 1, -1)[which]
        occurring, times = occurring[counted], times[counted]
    table = occurring[:, None] // base ** np.arange(width) % base
    pattern, codes = np.nonzero(table)
    return DistinctRows(pattern, codes, table[pattern, codes], times, which)


def _distinct_by_sorting(
    row: IntArray, code: IntArray, count: IntArray, *, multiplicity: IntArray
) -> DistinctRows:
    """Compare rows with the same number of cells, cell by cell, however long the scale is."""
    length = np.bincount(row, minlength=len(multiplicity))
    start = np.cumsum(length) - length
    cells_of, lengths, times = ([np.zeros(0, dtype=np.int64)] for _ in range(3))
    which, n_patterns = np.full(len(multiplicity), -1), 0
    for k in np.unique(length[(length > 0) & (multiplicity > 0)]):
        rows = np.flatnonzero((length == k) & (multiplicity > 0))
        cells = start[rows, None] + np.arange(k)
        first, same = _distinct_rows(np.hstack([code[cells], count[cells]]))
        cells_of.append(cells[first].ravel())
        lengths.append(np.full(len(first), k))
        times.append(np.bincount(same, weights=multiplicity[rows]).astype(np.int64))
        which[rows] = n_patterns + same
        n_patterns += len(first)
    chosen, per_row = np.concatenate(cells_of), np.concatenate(lengths)
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


# Whole numbers up to this are exact in floating point.
_EXACT = 2**53


@dataclass(frozen=True, eq=False)
class Patterns:
    """P distinct count rows over V values, stored as their K non-zero cells, so memory follows the ratings.

    values: (V,) ascending, finite category codes.
    pattern, code, count: (K,) cell k says that `values[code[k]]` was given `count[k]` times to a unit of
        pattern `pattern[k]`; ascending by pattern, then code.
    multiplicity: (P,) how many units have the pattern.
    cluster: (P,) the number of the cluster its units are in, where they are not independent of each other; units of
        different clusters are then different patterns.

    Units without any rating are not kept. Equal data give equal arrays in whatever order they came, so
    results are the same to the last bit.
    """

    values: FloatArray
    pattern: IntArray
    code: IntArray
    count: IntArray
    multiplicity: IntArray
    cluster: IntArray | None = None

    def __post_init__(self) -> None:
        if (infinite := self.values[~np.isfinite(self.values)]).size:
            raise ValueError(f"Rating values must be finite numbers; found {infinite[0]}.")

    @cached_property
    def counts(self) -> IntArray:
        """(P, V) the count rows written out; for reading and for small V, since it takes P x V cells."""
        table = np.zeros((len(self.multiplicity), len(self.values)), dtype=np.int64)
        table[self.pattern, self.code] = self.count
        return table

    @cached_property
    def sizes(self) -> IntArray:
        """(P,) ratings that a unit of each pattern received."""
        return self.per_pattern(self.count).astype(np.int64)

    @cached_property
    def totals(self) -> IntArray:
        """(V,) how often each value was given over all units."""
        weights = self.count * self.multiplicity[self.pattern]
        return np.bincount(self.code, weights=weights, minlength=len(self.values)).astype(np.int64)

    @property
    def units(self) -> int:
        return int(self.multiplicity.sum())

    @property
    def ratings(self) -> int:
        return int((self.sizes * self.multiplicity).sum())

    def per_pattern(self, cells: NDArray[np.generic]) -> FloatArray:
        """(P,) sums of a (K,) quantity over the cells of each pattern."""
        return np.bincount(self.pattern, weights=cells, minlength=len(self.multiplicity)).astype(np.float64)

    def pairable(self) -> Patterns:
        """The units with two or more ratings, and only the values that occur in them."""
        return self._select(self.sizes >= 2, self.multiplicity)

    def without(self, pattern: int) -> Patterns:
        """The same data with one unit of `pattern` left out."""
        multiplicity = self.multiplicity.copy()
        multiplicity[pattern] -= 1
        return self._select(multiplicity > 0, multiplicity)

    def _select(self, selected: NDArray[np.bool_], multiplicity: IntArray) -> Patterns:
        cells = selected[self.pattern]
        used, code = np.unique(self.code[cells], return_inverse=True)
        number = np.cumsum(selected) - 1
        return Patterns(
            values=self.values[used],
            pattern=number[self.pattern[cells]],
            code=code,
            count=self.count[cells],
            multiplicity=multiplicity[selected],
            cluster=None if self.cluster is None else self.cluster[selected],
        )


def patterns_from_long(units: ArrayLike, values: ArrayLike, *, clusters: ArrayLike | None = None) -> Patterns:
    """Patterns of columns with one row per rating; a NaN or None among the values is a missing rating.

    clusters: of each rating, what its unit shares with other units (its prompt, its sound). Raises ValueError for a
    unit in two of them.
    """
    columns = read_columns(units, values)
    if clusters is None:
        return patterns_from_columns(columns)[0]
    label = np.asarray(clusters)
    if label.shape != np.shape(units):
        raise ValueError(f"There are {np.shape(units)} ratings, but clusters of {label.shape}.")
    cluster = number_labels(label[columns.rated], what="cluster")
    of_unit = np.zeros(columns.units, dtype=np.int64)
    of_unit[columns.unit] = cluster
    if (of_unit[columns.unit] != cluster).any():
        raise ValueError("A unit is in two clusters; a cluster is made of whole units.")
    return _clustered_patterns(
        columns.values, *columns.cells(), np.ones(columns.units, dtype=np.int64), of_unit
    )


def patterns_from_columns(columns: RatingColumns) -> tuple[Patterns, IntArray]:
    """The patterns of the ratings, and the number of each unit's pattern, -1 for a unit without ratings."""
    width, once = len(columns.values), np.ones(columns.units, dtype=np.int64)
    base = int(np.bincount(columns.unit).max(initial=0)) + 1
    if base ** min(width, 53) >= _EXACT:
        distinct = distinct_count_rows(*columns.cells(), width=width, multiplicity=once)
        return distinct.patterns(columns.values), distinct.which
    # A unit's counts as one number: a single pass over the ratings.
    place = (base ** np.arange(width)).astype(np.float64)
    number = np.bincount(columns.unit, weights=place[columns.code], minlength=columns.units)
    unordered = distinct_numbers(number.astype(np.int64), base=base, width=width, multiplicity=once)
    # Once more over the few distinct rows, for the order in which every other way finds them.
    distinct = distinct_count_rows(
        unordered.pattern, unordered.code, unordered.count, width=width, multiplicity=unordered.multiplicity
    )
    return distinct.patterns(columns.values), np.append(distinct.which, -1)[unordered.which]


def patterns_from_counts(values: ArrayLike, counts: ArrayLike) -> Patterns:
    """Patterns of a table: `counts` (N, V) says how often each unit was given each of `values` (V,)."""
    domain, table = np.asarray(values, dtype=np.float64), np.asarray(counts)
    if domain.ndim != 1 or table.ndim != 2 or table.shape[1] != len(domain):
        raise ValueError(f"Counts need one column per value; got {table.shape} for values {domain.shape}.")
    order = np.argsort(domain)
    table = _whole_numbers(table, "Counts")[:, order]
    row, code = np.nonzero(table)
    once = np.ones(len(table), dtype=np.int64)
    return _distinct_patterns(_require_distinct(domain[order]), row, code, table[row, code], once)


def patterns_from_rows(
    rows: Iterable[tuple[Mapping[float, int], int]], *, clusters: ArrayLike | None = None
) -> Patterns:
    """Patterns of (value -> count, number of units with it), as an SQL GROUP BY over count columns yields them.

    clusters: of each row, what its units share with units of other rows.
    """
    listed = list(rows)
    cells = [(i, value, count) for i, (row, _) in enumerate(listed) for value, count in row.items()]
    times = _whole_numbers(np.array([times for _, times in listed], dtype=object), "Multiplicities")
    count = _whole_numbers(np.array([count for _, _, count in cells], dtype=object), "Counts")
    row = np.array([i for i, _, _ in cells], dtype=np.int64)
    value = np.array([value for _, value, _ in cells], dtype=np.float64)
    domain = _require_distinct(np.unique(value))
    key = (row * len(domain) + np.searchsorted(domain, value))[count > 0]
    distinct_keys, which = np.unique(key, return_inverse=True)
    summed = np.bincount(which, weights=count[count > 0]).astype(np.int64)
    row, code = np.divmod(distinct_keys, max(len(domain), 1))
    if clusters is None:
        return _distinct_patterns(domain, row, code, summed, times)
    label = np.asarray(clusters)
    if label.shape != times.shape:
        raise ValueError(f"There are {len(times)} count rows, but clusters of {label.shape}.")
    return _clustered_patterns(domain, row, code, summed, times, number_labels(label, what="cluster"))


def _require_distinct(domain: FloatArray) -> FloatArray:
    """Check sorted values, where NaN comes last."""
    if np.isnan(domain).any():
        raise ValueError("A rating value is not a number.")
    repeated = domain[1:][domain[1:] == domain[:-1]]
    if repeated.size:
        raise ValueError(f"Rating values must be distinct; {repeated[0]:g} is there twice.")
    return domain


def _whole_numbers(numbers: NDArray[np.generic], what: str) -> IntArray:
    as_float = numbers.astype(np.float64)
    if not (np.isfinite(as_float) & (as_float >= 0) & (as_float == np.floor(as_float))).all():
        raise ValueError(f"{what} must be whole numbers of zero or more.")
    return as_float.astype(np.int64)


def _distinct_patterns(
    values: FloatArray, row: IntArray, code: IntArray, count: IntArray, multiplicity: IntArray
) -> Patterns:
    """Store equal rows once; cells come ascending by row, then code."""
    distinct = distinct_count_rows(row, code, count, width=len(values), multiplicity=multiplicity)
    return distinct.patterns(values)


def _clustered_patterns(
    values: FloatArray,
    row: IntArray,
    code: IntArray,
    count: IntArray,
    multiplicity: IntArray,
    cluster: IntArray,
) -> Patterns:
    """Store equal rows of a cluster once: the cluster is one more cell of the row, after all the values."""
    width, rated = len(values), np.unique(row)
    rows = np.concatenate([row, rated])
    codes = np.concatenate([code, width + cluster[rated]])
    order = np.lexsort([codes, rows])
    distinct = distinct_count_rows(
        rows[order],
        codes[order],
        np.concatenate([count, np.ones(len(rated), dtype=np.int64)])[order],
        width=width + int(cluster.max(initial=0)) + 1,
        multiplicity=multiplicity,
    )
    rating = distinct.code < width
    pattern, code, count = (column[rating] for column in (distinct.pattern, distinct.code, distinct.count))
    return Patterns(values, pattern, code, count, distinct.multiplicity, distinct.code[~rating] - width)
