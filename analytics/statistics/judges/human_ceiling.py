"""Human ceiling: a scorer and a single rater, both compared with the rest of a unit's raters.

Each rater of a unit in turn is held out and compared with the others' mean (ratings) or majority (preferences); the
scorer is compared with those very targets. The turns of one unit together weigh as much as one unit, so every sum that
a figure rests on is the average over all ways to draw one rater from each unit: raters need no names. The ratio may
exceed 1: a scorer can foresee the others better than one person does. It is not the ceiling of a scorer that is
compared with the mean of all raters, which is less noisy than a mean of the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analytics.statistics.arrays import FloatArray, IntArray
from analytics.statistics.bootstrap import (
    DEFAULT_RESAMPLING,
    Estimate,
    Resampling,
    WeightedStatistic,
    cluster_numbers,
    estimate,
    undefined_estimate,
    weighted_mean,
)
from analytics.statistics.correlation import pearson, spearman, undefined_reason

SENTENCES = {
    "no_rest": "No unit that has a score was answered twice, so there is nobody to compare one person with.",
    "constant_raters": "The persons who are compared with the rest all gave the same value.",
    "no_agreement": "People agree with each other no better than chance, so there is nothing to compare a scorer with.",
}


@dataclass(frozen=True)
class Ceiling:
    """human, model: the same statistic against the same targets. ratio: model by human, resampled together.

    units: those with a score and two or more answers; `n` of the three figures counts them too. answers: theirs.
    """

    human: Estimate
    model: Estimate
    ratio: Estimate
    units: int
    answers: int


@dataclass(frozen=True)
class CorrelationCeiling:
    lcc: Ceiling
    srcc: Ceiling


@dataclass(frozen=True, eq=False)
class _HeldOut:
    """A row for each unit and value that was held out there: how much it weighs, the value, and the mean of the rest.

    units and answers as in `Ceiling`.
    """

    unit: IntArray
    weight: FloatArray
    own: FloatArray
    rest: FloatArray
    units: int
    answers: int


def rating_ceiling(
    unit: Sequence[int] | IntArray,
    value: Sequence[float] | FloatArray,
    scores: Sequence[float] | FloatArray,
    *,
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling = DEFAULT_RESAMPLING,
) -> CorrelationCeiling:
    """unit, value: a row per rating; units are numbers into `scores` and `clusters`, which have a row per unit. Units
    with a NaN for a score, or with one rating, are left out."""
    score = np.asarray(scores, dtype=np.float64)
    held = _held_out(np.asarray(unit), np.asarray(value, dtype=np.float64), np.isfinite(score))
    of_unit = score[held.unit]
    for column, reason in ((held.own, "constant_raters"), (of_unit, None)):
        undefined = "no_rest" if not held.units else undefined_reason(column, held.rest)
        if undefined:
            undefined = reason if reason and undefined == "constant_scores" else undefined
            nothing = _undefined_ceiling(undefined, held, resampling)
            return CorrelationCeiling(nothing, nothing)
    groups = cluster_numbers(clusters, held.unit, n=len(score))
    lcc, srcc = (
        _ceiling(make(held.own, held.rest), make(of_unit, held.rest), held, groups, resampling)
        for make in (pearson, spearman)
    )
    return CorrelationCeiling(lcc, srcc)


def preference_ceiling(
    votes: FloatArray,
    leads: Sequence[float] | FloatArray,
    *,
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling = DEFAULT_RESAMPLING,
) -> Ceiling:
    """votes: (n, 3) how many are for the first, for the second and for neither of each pair. leads: the scorer's, NaN
    where there is none. Accuracy; a vote for neither and a lead of nothing are right half the time, and turns in which
    the rest is undecided do not count."""
    counts, lead = np.asarray(votes, dtype=np.float64), np.asarray(leads, dtype=np.float64)
    if counts.shape != (len(lead), 3):
        raise ValueError("Needs the votes for the first, the second and neither, and a lead, per pair.")
    total = counts.sum(axis=1)
    pair, side = np.nonzero((counts > 0) & (np.isfinite(lead) & (total > 1))[:, None])
    own = np.array([1.0, -1.0, 0.0])[side]
    rest = np.sign((counts[:, 0] - counts[:, 1])[pair] - own)
    pair, side, own, rest = (column[rest != 0] for column in (pair, side, own, rest))
    units = np.unique(pair)
    weight = counts[pair, side] / total[pair]
    held = _HeldOut(pair, weight, own, rest, len(units), int(total[units].sum()))
    if not held.units:
        return _undefined_ceiling("no_rest", held, resampling)
    human, model = (weighted_mean((1 + one * rest) / 2) for one in (own, np.sign(lead[pair])))
    return _ceiling(human, model, held, cluster_numbers(clusters, pair, n=len(lead)), resampling)


def _held_out(unit: IntArray, value: FloatArray, scored: np.ndarray) -> _HeldOut:
    rows = np.isfinite(value) & scored[unit]
    unit, value = unit[rows], value[rows]
    size = np.bincount(unit, minlength=len(scored))
    total = np.bincount(unit, weights=value, minlength=len(scored))
    several = size[unit] > 1
    distinct, code = np.unique(value[several], return_inverse=True)
    # Equal ratings of one unit have the same rest, and are one row that weighs more.
    cell, times = np.unique(unit[several] * max(len(distinct), 1) + code, return_counts=True)
    of, own = cell // max(len(distinct), 1), distinct[cell % max(len(distinct), 1)]
    rest = (total[of] - own) / (size[of] - 1)
    return _HeldOut(of, times / size[of], own, rest, len(np.unique(of)), int(several.sum()))


def _ceiling(
    human: WeightedStatistic,
    model: WeightedStatistic,
    held: _HeldOut,
    groups: IntArray,
    resampling: Resampling,
) -> Ceiling:
    def weighted(measure: Callable[[FloatArray], FloatArray]) -> Estimate:
        figure = estimate(lambda times: measure(times * held.weight), groups, resampling=resampling)
        return replace(figure, n=held.units)

    def ratio(weights: FloatArray) -> FloatArray:
        by = human(weights)
        return np.asarray(np.divide(model(weights), by, out=np.full(len(by), np.nan), where=by > 0))

    alone = weighted(human)
    if alone.value is None or not alone.value > 0:
        relative = undefined_estimate("no_agreement", n=held.units, resampling=resampling)
    else:
        relative = weighted(ratio)
    return Ceiling(alone, weighted(model), relative, held.units, held.answers)


def _undefined_ceiling(reason: str, held: _HeldOut, resampling: Resampling) -> Ceiling:
    missing = undefined_estimate(reason, n=held.units, resampling=resampling)
    return Ceiling(missing, missing, missing, held.units, held.answers)
