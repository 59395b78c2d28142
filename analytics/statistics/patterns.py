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

from analytics.statistics.distinct_rows import FloatArray, IntArray, distinct_count_rows


@dataclass(frozen=True, eq=False)
class Patterns:
    """P distinct count rows over V values, stored as their K non-zero cells, so memory follows the ratings.

    values: (V,) ascending, finite category codes.
    pattern, code, count: (K,) cell k says that `values[code[k]]` was given `count[k]` times to a unit of
        pattern `pattern[k]`; ascending by pattern, then code.
    multiplicity: (P,) how many units have the pattern.

    Units without any rating are not kept. Equal data give equal arrays in whatever order they came, so
    results are the same to the last bit.
    """

    values: FloatArray
    pattern: IntArray
    code: IntArray
    count: IntArray
    multiplicity: IntArray

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
        )


def patterns_from_long(units: ArrayLike, values: ArrayLike) -> Patterns:
    """Patterns of columns with one row per rating; a NaN or None among the values is a missing rating."""
    unit, value = np.asarray(units), np.asarray(values, dtype=np.float64)
    if unit.ndim != 1 or unit.shape != value.shape:
        raise ValueError(f"Units and values must be columns of equal length: {unit.shape}, {value.shape}.")
    given = ~np.isnan(value)
    domain = np.unique(value[given])
    row = _row_numbers(unit[given])
    key = row * len(domain) + np.searchsorted(domain, value[given])
    cells, count = np.unique(key, return_counts=True)
    return _collapse(domain, cells, count, np.ones(row.max(initial=-1) + 1, dtype=np.int64))


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
    rows: Iterable[tuple[Mapping[float, int] | Sequence[int], int]], *, values: Sequence[float] | None = None
) -> Patterns:
    """Patterns of (count row, number of units with it), as an SQL GROUP BY over count columns yields them.

    A count row is a mapping value -> count, or a sequence of counts in the order of `values`.
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
    return _collapse(domain, distinct_keys, summed, times)


def _named(row: Sequence[int], values: Sequence[float] | None) -> dict[float, int]:
    if values is None:
        raise ValueError("Count rows without names need the values that their columns stand for.")
    return dict(zip(values, row, strict=True))


def _row_numbers(unit: NDArray[np.generic]) -> IntArray:
    """Number the units from 0. Gaps in the numbers cost nothing, so dense integers need no sorting."""
    if unit.dtype.kind == "i" and unit.size and int(unit.max()) - int(unit.min()) < 4 * unit.size:
        return unit.astype(np.int64) - int(unit.min())
    if unit.dtype.kind in "fO" and any(u is None or u != u for u in unit.tolist()):
        raise ValueError("A rating names no unit: its unit identifier is missing.")
    return np.asarray(np.unique(unit, return_inverse=True)[1], dtype=np.int64)


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
    return Patterns(
        values, *distinct_count_rows(row, code, count, width=len(values), multiplicity=multiplicity)
    )
