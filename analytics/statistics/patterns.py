"""Ratings of units as value counts, with equal units stored once.

Krippendorff's alpha and every form of percent agreement depend on a unit only through how often each value
was given to it. A million units rated 1-5 by two to five people show at most 246 different count rows, so the
distinct rows and how many units have each are all that these statistics ever need.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analytics.statistics.columns import Columns, numbers, read_columns
from analytics.statistics.distinct_rows import (
    DistinctRows,
    FloatArray,
    IntArray,
    distinct_count_rows,
    distinct_numbers,
)

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
        strange = self.values[~np.isfinite(self.values)]
        if strange.size:
            raise ValueError(f"Rating values must be finite numbers; found {strange[0]}.")

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

    def _select(self, kept: NDArray[np.bool_], multiplicity: IntArray) -> Patterns:
        cells = kept[self.pattern]
        used, code = np.unique(self.code[cells], return_inverse=True)
        number = np.cumsum(kept) - 1
        return Patterns(
            values=self.values[used],
            pattern=number[self.pattern[cells]],
            code=code,
            count=self.count[cells],
            multiplicity=multiplicity[kept],
            cluster=None if self.cluster is None else self.cluster[kept],
        )


def patterns_from_long(units: ArrayLike, values: ArrayLike, *, clusters: ArrayLike | None = None) -> Patterns:
    """Patterns of columns with one row per rating; a NaN or None among the values is a missing rating.

    clusters: of each rating, what its unit shares with other units (its prompt, its sound). Raises ValueError for a
    unit in two of them.
    """
    columns = read_columns(units, values)
    if clusters is None:
        return tally(columns)[0]
    label = np.asarray(clusters)
    if label.shape != np.shape(units):
        raise ValueError(f"There are {np.shape(units)} ratings, but clusters of {label.shape}.")
    cluster = numbers(label[columns.given], what="cluster")
    of_unit = np.zeros(columns.units, dtype=np.int64)
    of_unit[columns.unit] = cluster
    if (of_unit[columns.unit] != cluster).any():
        raise ValueError("A unit is in two clusters; a cluster is made of whole units.")
    return _clustered(columns.values, *columns.cells(), np.ones(columns.units, dtype=np.int64), of_unit)


def tally(columns: Columns) -> tuple[Patterns, IntArray]:
    """The patterns of the ratings, and the number of each unit's pattern, -1 for a unit without ratings."""
    width, once = len(columns.values), np.ones(columns.units, dtype=np.int64)
    base = int(np.bincount(columns.unit).max(initial=0)) + 1
    if base ** min(width, 53) >= _EXACT:
        found = distinct_count_rows(*columns.cells(), width=width, multiplicity=once)
        return _patterns(columns.values, found), found.which
    # A unit's counts as one number: a single pass over the ratings.
    place = (base ** np.arange(width)).astype(np.float64)
    number = np.bincount(columns.unit, weights=place[columns.code], minlength=columns.units)
    met = distinct_numbers(number.astype(np.int64), base=base, width=width, multiplicity=once)
    # Once more over the few distinct rows, for the order in which every other way finds them.
    found = distinct_count_rows(met.pattern, met.code, met.count, width=width, multiplicity=met.multiplicity)
    return _patterns(columns.values, found), np.append(found.which, -1)[met.which]


def patterns_from_counts(values: ArrayLike, counts: ArrayLike) -> Patterns:
    """Patterns of a table: `counts` (N, V) says how often each unit was given each of `values` (V,)."""
    domain, table = np.asarray(values, dtype=np.float64), np.asarray(counts)
    if domain.ndim != 1 or table.ndim != 2 or table.shape[1] != len(domain):
        raise ValueError(f"Counts need one column per value; got {table.shape} for values {domain.shape}.")
    order = np.argsort(domain)
    table = _whole_numbers(table, "Counts")[:, order]
    row, code = np.nonzero(table)
    cells = row * len(domain) + code
    return _collapse(_distinct(domain[order]), cells, table[row, code], np.ones(len(table), dtype=np.int64))


def patterns_from_rows(
    rows: Iterable[tuple[Mapping[float, int] | Sequence[int], int]],
    *,
    values: Sequence[float] | None = None,
    clusters: ArrayLike | None = None,
) -> Patterns:
    """Patterns of (count row, number of units with it), as an SQL GROUP BY over count columns yields them.

    A count row is a mapping value -> count, or a sequence of counts in the order of `values`. clusters: of each row,
    what its units share with units of other rows.
    """
    listed = [(row if isinstance(row, Mapping) else _named(row, values), times) for row, times in rows]
    cells = [(i, value, count) for i, (row, _) in enumerate(listed) for value, count in row.items()]
    times = _whole_numbers(np.array([times for _, times in listed], dtype=object), "Multiplicities")
    count = _whole_numbers(np.array([count for _, _, count in cells], dtype=object), "Counts")
    row = np.array([i for i, _, _ in cells], dtype=np.int64)
    value = np.array([value for _, value, _ in cells], dtype=np.float64)
    domain = np.unique(value) if values is None else np.sort(np.asarray(values, dtype=np.float64))
    unknown = value[~np.isin(value, _distinct(domain))]
    if unknown.size:
        raise ValueError(f"A count row names {unknown[0]}, which is not among the values.")
    key = (row * len(domain) + np.searchsorted(domain, value))[count > 0]
    distinct_keys, which = np.unique(key, return_inverse=True)
    summed = np.bincount(which, weights=count[count > 0]).astype(np.int64)
    if clusters is None:
        return _collapse(domain, distinct_keys, summed, times)
    label = np.asarray(clusters)
    if label.shape != times.shape:
        raise ValueError(f"There are {len(times)} count rows, but clusters of {label.shape}.")
    row, code = np.divmod(distinct_keys, max(len(domain), 1))
    return _clustered(domain, row, code, summed, times, numbers(label, what="cluster"))


def _named(row: Sequence[int], values: Sequence[float] | None) -> dict[float, int]:
    if values is None:
        raise ValueError("Count rows without names need the values that their columns stand for.")
    return dict(zip(values, row, strict=True))


def _distinct(domain: FloatArray) -> FloatArray:
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


def _collapse(values: FloatArray, key: IntArray, count: IntArray, multiplicity: IntArray) -> Patterns:
    """Store equal rows once; `key` is row * V + code of the cells with `count`, ascending and distinct."""
    row, code = np.divmod(key, max(len(values), 1))
    return _patterns(
        values, distinct_count_rows(row, code, count, width=len(values), multiplicity=multiplicity)
    )


def _patterns(values: FloatArray, found: DistinctRows) -> Patterns:
    return Patterns(values, found.pattern, found.code, found.count, found.multiplicity)


def _clustered(
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
    found = distinct_count_rows(
        rows[order],
        codes[order],
        np.concatenate([count, np.ones(len(rated), dtype=np.int64)])[order],
        width=width + int(cluster.max(initial=0)) + 1,
        multiplicity=multiplicity,
    )
    rating = found.code < width
    return Patterns(
        values,
        found.pattern[rating],
        found.code[rating],
        found.count[rating],
        found.multiplicity,
        cluster=found.code[~rating] - width,
    )
