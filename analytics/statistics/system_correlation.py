"""Correlations at system level: of each system's mean score with its mean human value, over systems.

Another figure than the correlation over items, and usually a higher one, as the noise of items averages out. Intervals
resample the items' clusters and average anew; the systems stay, so they say how sure the figure is for these systems.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

import numpy as np

from analytics.statistics.bootstrap import Estimate, Measure, Resampling, estimate, undefined
from analytics.statistics.correlation import Correlations, paired, why_undefined
from analytics.statistics.distinct_rows import FloatArray, IntArray

# Row by row from (B, S) and (B, S): what is NaN in either is not there.
_Correlate = Callable[[FloatArray, FloatArray], FloatArray]


def system_correlations(
    scores: Sequence[float] | FloatArray,
    humans: Sequence[float] | FloatArray,
    systems: Sequence[Hashable],
    *,
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling | None = None,
) -> Correlations:
    """systems: one per item. `n` of the figures counts systems. Items without a score or a human value are left out, so
    both means are over the same items; None with a reason below three systems, or where one of the two is equal."""
    resampling = resampling or Resampling()
    if len(systems) != len(scores):
        raise ValueError("Needs one system per item.")
    x, y, groups, kept = paired(scores, humans, clusters)
    number = {system: n for n, system in enumerate(dict.fromkeys(systems))}
    given = np.array([number[system] for system in systems], dtype=np.int64)[kept]
    system_of = np.unique(given, return_inverse=True)[1]
    mean_x, mean_y = (_means(values, system_of, np.ones((1, len(x)))) for values in (x, y))
    n = mean_x.shape[1]
    if reason := why_undefined(mean_x[0], mean_y[0]):
        missing = undefined(reason, n=n, resampling=resampling)
        return Correlations(missing, missing, missing)

    def over(correlate: _Correlate) -> Estimate:
        measure = _measure(x, y, system_of, correlate)
        return replace(estimate(measure, groups, resampling=resampling), n=n)

    return Correlations(over(_linear), over(_of_ranks), over(_tau_b))


def _measure(x: FloatArray, y: FloatArray, system_of: IntArray, correlate: _Correlate) -> Measure:
    def measure(weights: FloatArray) -> FloatArray:
        return correlate(_means(x, system_of, weights), _means(y, system_of, weights))

    return measure


def _means(values: FloatArray, system_of: IntArray, weights: FloatArray) -> FloatArray:
    """(B, S) each system's mean in each resample; NaN where nothing of it was drawn."""
    order = np.argsort(system_of, kind="stable")
    starts = np.searchsorted(system_of[order], np.arange(system_of.max(initial=-1) + 1))
    total = np.add.reduceat((weights * values)[:, order], starts, axis=1)
    times = np.add.reduceat(weights[:, order], starts, axis=1)
    return np.asarray(np.divide(total, times, out=np.full(total.shape, np.nan), where=times > 0))


def _linear(x: FloatArray, y: FloatArray) -> FloatArray:
    there = np.isfinite(x) & np.isfinite(y)
    n = np.maximum(there.sum(axis=1, keepdims=True), 1)
    dx, dy = (
        np.where(there, values - np.where(there, values, 0.0).sum(axis=1, keepdims=True) / n, 0.0)
        for values in (x, y)
    )
    return _quotient((dx * dy).sum(axis=1), (dx * dx).sum(axis=1), (dy * dy).sum(axis=1))


def _of_ranks(x: FloatArray, y: FloatArray) -> FloatArray:
    return _linear(_ranks(x), _ranks(y))


def _ranks(values: FloatArray) -> FloatArray:
    """Average ranks in each row; comparisons with NaN are false."""
    less = (values[:, :, None] > values[:, None, :]).sum(axis=2)
    equal = (values[:, :, None] == values[:, None, :]).sum(axis=2)
    return np.where(np.isfinite(values), less + (equal + 1) / 2, np.nan)


def _tau_b(x: FloatArray, y: FloatArray) -> FloatArray:
    signs = [np.nan_to_num(np.sign(values[:, :, None] - values[:, None, :])) for values in (x, y)]
    balance, untied_x, untied_y = (
        (first * second).sum(axis=(1, 2)) for first, second in (signs, signs[:1] * 2, signs[1:] * 2)
    )
    return _quotient(balance, untied_x, untied_y)


def _quotient(sxy: FloatArray, sxx: FloatArray, syy: FloatArray) -> FloatArray:
    below = np.sqrt(sxx * syy)
    found = np.divide(sxy, below, out=np.full(len(below), np.nan), where=below > 0)
    return np.asarray(np.clip(found, -1.0, 1.0))
