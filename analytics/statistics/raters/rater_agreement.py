"""Each rater against the others (leave one rater out) and against themselves (self-consistency).

Without a rater's rating of value v, a unit of count row x has x - e_v, so the sums behind alpha change by what the pair
(x, v) alone says. Counting how often each rater has each such pair takes one pass over the ratings; what is left is a
matrix product over the few distinct pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analytics.statistics.agreement import disagreement
from analytics.statistics.agreement.alpha import Agreement, IntervalSettings, alpha_at
from analytics.statistics.agreement.disagreement import AnyLevel
from analytics.statistics.agreement.patterns import (
    Patterns,
    RatingColumns,
    counted_in_table,
    number_labels,
    patterns_from_columns,
    patterns_from_long,
    read_columns,
)
from analytics.statistics.agreement.percent_agreement import percent_agreement
from analytics.statistics.arrays import FloatArray, IntArray

# A table of all raters by all pairs is counted up to here; beyond it the pairs that occur are sorted.
_MOST_TABLE_CELLS = 2**25
_JACKKNIFE = IntervalSettings()


@dataclass(frozen=True)
class RaterAgreement:
    """One rater among the others. `alpha_without` is alpha of all ratings but theirs, None for `reason`.

    ratings, pairable_ratings: theirs, and those of them in units that others rated too.
    equal: of the pairs of one of their ratings with one of another rater's of the same unit, how many are equal; None
        without pairs.
    above_others: how far their ratings lie above the mean of the others' in the same unit, on average; None at the
        nominal level or without others.
    """

    rater: Any
    ratings: int
    pairable_ratings: int
    alpha_without: float | None
    reason: str | None
    pairs: int
    equal: float | None
    above_others: float | None


@dataclass(frozen=True, eq=False)
class _RaterCells:
    """Which rater gave which cell of which pattern, how often: (T,) each. `cell` indexes the patterns' cells."""

    rater: IntArray
    cell: IntArray
    times: IntArray


# Alpha of the others' ratings, None for a reason.
_AlphaWithout = tuple[float | None, str | None]


def one_left_out(
    units: ArrayLike, raters: ArrayLike, values: ArrayLike, *, level: AnyLevel
) -> list[RaterAgreement]:
    """By rater, ascending, from columns with one row per rating; a NaN or None among the values is a missing one.

    Raises ValueError for a rater who rated a unit twice (pass one of the ratings) and for what the level cannot have.
    """
    columns = read_columns(units, values)
    label = np.asarray(raters)
    if label.shape != np.shape(units):
        raise ValueError(f"There are {np.shape(units)} ratings, but raters of {label.shape}.")
    names, rater = _name_raters(label[columns.rated])
    if not len(names):
        return []
    _refuse_repeats(columns, rater, names)
    patterns, which = patterns_from_columns(columns)
    met = _count_rater_cells(columns, rater, patterns, which, raters=len(names))
    without = _alphas_without(columns, rater, patterns, met, level=level, raters=len(names))
    return _rater_agreements(names, patterns, met, without, scale=level not in ("nominal", "symmetric"))


def _name_raters(label: NDArray[np.generic]) -> tuple[NDArray[np.generic], IntArray]:
    if label.dtype.kind in "fO" and any(one is None or one != one for one in label.tolist()):
        raise ValueError("A rating names no rater; leave out ratings whose rater is not known.")
    if label.dtype.kind in "iu" and label.size and int(label.max()) - int(label.min()) < 4 * label.size:
        offset = label.astype(np.int64) - int(label.min())
        occurs = np.bincount(offset) > 0
        return np.flatnonzero(occurs).astype(label.dtype) + label.min(), (np.cumsum(occurs) - 1)[offset]
    names, rater = np.unique(label, return_inverse=True)
    return names, rater.astype(np.int64, copy=False)


def _refuse_repeats(columns: RatingColumns, rater: IntArray, names: NDArray[np.generic]) -> None:
    key = columns.unit * len(names) + rater
    key.sort()
    again = key[1:][key[1:] == key[:-1]]
    if again.size:
        name = names[int(again[0]) % len(names)]
        raise ValueError(f"Rater {name} rated a unit more than once; pass one of the ratings.")


def _count_rater_cells(
    columns: RatingColumns, rater: IntArray, patterns: Patterns, which: IntArray, *, raters: int
) -> _RaterCells:
    width, cells = len(patterns.values), len(patterns.pattern)
    place = which[columns.unit] * width + columns.code
    ours = patterns.pattern * width + patterns.code
    if width * len(patterns.multiplicity) <= _MOST_TABLE_CELLS:
        lookup = np.zeros(width * len(patterns.multiplicity), dtype=np.int64)
        lookup[ours] = np.arange(cells)
        key = lookup[place]
    else:
        key = np.searchsorted(ours, place)
    key += rater * cells
    if raters * cells <= _MOST_TABLE_CELLS:
        occurring, times = counted_in_table(key, raters * cells)
    else:
        occurring, times = np.unique(key, return_counts=True)
    rater, cell = np.divmod(occurring, cells)
    return _RaterCells(rater, cell, times)


def _alphas_without(
    columns: RatingColumns,
    rater: IntArray,
    patterns: Patterns,
    met: _RaterCells,
    *,
    level: AnyLevel,
    raters: int,
) -> list[_AlphaWithout]:
    width = len(patterns.values)
    row = width + width * (width - 1) // 2
    if width > disagreement.MOST_SUMMED_VALUES or len(patterns.pattern) * row > _MOST_TABLE_CELLS:
        return _one_by_one(columns, rater, level=level, raters=raters)
    alpha_at(patterns, level)  # refuses what the level cannot have
    counts, cells = patterns.counts, np.arange(len(patterns.pattern))
    whole = disagreement.unit_sums(counts)
    left = counts[patterns.pattern]
    left[cells, patterns.code] -= 1
    change = disagreement.unit_sums(left) - whole[patterns.pattern]
    gains = [
        np.bincount(met.rater, weights=met.times * gain[met.cell], minlength=raters) for gain in change.T
    ]
    sums = np.stack(gains, axis=1) + patterns.multiplicity @ whole
    alphas = disagreement.alphas_from_sums(sums, patterns.values, level=level)
    ratings = patterns.ratings - np.bincount(met.rater, weights=met.times, minlength=raters)
    pairable = sums[:, :width].sum(axis=1) > 0
    return [
        (float(alpha), None)
        if np.isfinite(alpha)
        else (None, "no_ratings" if not n else "no_variation" if some else "no_pairable_units")
        for alpha, n, some in zip(alphas, ratings, pairable, strict=True)
    ]


def _one_by_one(
    columns: RatingColumns, rater: IntArray, *, level: AnyLevel, raters: int
) -> list[_AlphaWithout]:
    """On scales so long that the sums behind alpha take more room than the ratings."""
    value, alphas = columns.values[columns.code], []
    for one in range(raters):
        others = rater != one
        alpha = alpha_at(patterns_from_long(columns.unit[others], value[others]), level)
        alphas.append((alpha.alpha, alpha.reason if alpha.alpha is None else None))
    return alphas


def _rater_agreements(
    names: NDArray[np.generic],
    patterns: Patterns,
    met: _RaterCells,
    without: list[_AlphaWithout],
    *,
    scale: bool,
) -> list[RaterAgreement]:
    def by_rater(of_cell: NDArray[Any]) -> FloatArray:
        weights = met.times * of_cell[met.cell]
        return np.bincount(met.rater, weights=weights, minlength=len(names)).astype(np.float64)

    others = (patterns.sizes - 1)[patterns.pattern]
    paired = others > 0
    value = patterns.values[patterns.code]
    sums = patterns.per_pattern(patterns.count * value)[patterns.pattern]
    above = np.where(paired, value - (sums - value) / np.maximum(others, 1), 0.0)
    ratings, pairable, pairs = by_rater(np.ones(len(value))), by_rater(paired), by_rater(others)
    equal = by_rater((patterns.count - 1) * paired) / np.maximum(pairs, 1)
    mean = by_rater(above) / np.maximum(pairable, 1)
    return [
        RaterAgreement(
            rater=name,
            ratings=int(ratings[k]),
            pairable_ratings=int(pairable[k]),
            alpha_without=without[k][0],
            reason=without[k][1],
            pairs=int(pairs[k]),
            equal=float(equal[k]) if pairs[k] else None,
            above_others=float(mean[k]) if scale and pairs[k] else None,
        )
        for k, name in enumerate(names.tolist())
    ]


# How far people agree with themselves: a rater's repeated answers about the same unit. Low agreement
# between raters who each agree with themselves is a matter of taste or of the question; low agreement with
# oneself is a matter of care.


NO_REPEATS = "no_repeats"


@dataclass(frozen=True)
class SelfConsistency:
    """equal: the share of equal ones among all pairs of a rater's answers about one unit. alpha: of these answers.

    repeated: how many units were answered about twice or more, counted once for each rater who did so.
    raters: how many of them did. reason: code of `alpha.SENTENCES` when `equal` is None.
    """

    equal: float | None
    alpha: Agreement
    pairs: int
    repeated: int
    raters: int
    reason: str | None


def self_consistency(
    units: ArrayLike,
    raters: ArrayLike,
    values: ArrayLike,
    *,
    level: AnyLevel,
    interval: IntervalSettings = _JACKKNIFE,
) -> SelfConsistency:
    """From columns with one row per answer; a NaN or None among the values is a missing one.

    With an interval by clusters, a cluster is a rater with all they repeated.
    """
    unit, rater, value = np.asarray(units), np.asarray(raters), np.asarray(values, dtype=np.float64)
    if unit.ndim != 1 or not unit.shape == rater.shape == value.shape:
        raise ValueError(
            f"Units, raters and values are columns of equal length: {unit.shape}, {rater.shape}, {value.shape}."
        )
    rated = ~np.isnan(value)
    who = number_labels(rater[rated], what="rater")
    about = number_labels(unit[rated])
    meeting = who * (int(about.max(initial=-1)) + 1) + about
    patterns = patterns_from_long(meeting, value[rated], clusters=who)
    alpha = alpha_at(patterns, level, interval=interval)
    share = percent_agreement(patterns)
    pairable = patterns.pairable()
    assert pairable.cluster is not None  # made with clusters above
    reason = share.reason and NO_REPEATS
    return SelfConsistency(
        equal=share.pooled_pairs,
        alpha=replace(alpha, reason=NO_REPEATS) if reason else alpha,
        pairs=share.pairs,
        repeated=pairable.units,
        raters=len(np.unique(pairable.cluster)),
        reason=reason,
    )
