"""Correlations of a metric with human ratings: Pearson's r (LCC), Spearman's rho (SRCC), Kendall's tau-b (KTAU).

Each is written for items that occur a given number of times, so that one formula gives the figure and all its
resamples; with every item once it is the textbook figure. Pearson: sum (x - mx)(y - my) / sqrt(sum (x - mx)^2
sum (y - my)^2). Spearman: Pearson's r of the ranks, ties sharing the average of theirs (Kendall & Gibbons, "Rank
Correlation Methods", 5th ed. 1990, chapter 3). Tau-b: (C - D) / sqrt((n0 - n1)(n0 - n2)) with n0 = n(n - 1)/2 pairs, n1
and n2 of them tied in one of the two (Kendall, Biometrika 33, 1945).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analytics.statistics.bootstrap import (
    BoolArray,
    Estimate,
    Measure,
    Resampling,
    estimate,
    numbered,
    undefined,
)
from analytics.statistics.distinct_rows import FloatArray, IntArray

_FEWEST = 3
# Tau of a resample takes a time that grows with the square of the items; the figure itself does not.
_MOST_RESAMPLED_BY_PAIRS = 6_000
# How many pairs of items are compared at once for tau.
_PAIRS_AT_ONCE = 8_000_000


@dataclass(frozen=True)
class Correlations:
    """LCC, SRCC and Kendall's tau-b of one and the same items."""

    lcc: Estimate
    srcc: Estimate
    ktau: Estimate


def correlations(
    scores: Sequence[float] | FloatArray,
    humans: Sequence[float] | FloatArray,
    *,
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling | None = None,
) -> Correlations:
    """All three. Items with a NaN in either are left out first; None with a reason below three items, or where one of
    the two does not vary."""
    resampling = resampling or Resampling()
    x, y, groups, _ = paired(scores, humans, clusters)
    lcc, srcc = linear_and_rank(x, y, clusters=groups.tolist(), resampling=resampling)
    if lcc.value is None:
        return Correlations(lcc, srcc, lcc)
    if len(x) <= _MOST_RESAMPLED_BY_PAIRS:
        return Correlations(lcc, srcc, estimate(kendall(x, y), groups, resampling=resampling))
    from scipy import stats  # takes a second to load, and nearly nobody comes here

    tau = float(stats.kendalltau(x, y).statistic)
    ktau = replace(srcc, value=tau, interval=None, reason="too_many", replicates=0, degenerate=0)
    return Correlations(lcc, srcc, ktau)


def linear_and_rank(
    scores: Sequence[float] | FloatArray,
    humans: Sequence[float] | FloatArray,
    *,
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling | None = None,
) -> tuple[Estimate, Estimate]:
    """LCC and SRCC as in `correlations`, in a time that grows with the items and not with their square."""
    resampling = resampling or Resampling()
    x, y, groups, _ = paired(scores, humans, clusters)
    if reason := why_undefined(x, y):
        missing = undefined(reason, n=len(x), resampling=resampling)
        return missing, missing
    lcc, srcc = (estimate(make(x, y), groups, resampling=resampling) for make in (pearson, spearman))
    return lcc, srcc


def paired(
    scores: Sequence[float] | FloatArray,
    humans: Sequence[float] | FloatArray,
    clusters: Sequence[Hashable] | None,
) -> tuple[FloatArray, FloatArray, IntArray, BoolArray]:
    """What has both, with its clusters as numbers without a gap; and which items these are."""
    x, y = np.asarray(scores, dtype=np.float64), np.asarray(humans, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 1:
        raise ValueError("Needs one score and one human value per item.")
    kept = np.isfinite(x) & np.isfinite(y)
    groups = np.unique(numbered(clusters, n=len(x))[kept], return_inverse=True)[1]
    return x[kept], y[kept], groups, kept


def pearson(x: FloatArray, y: FloatArray) -> Measure:
    # Taking the overall means off first keeps the digits where values are large and alike.
    x, y = x - x.mean(), y - y.mean()

    def measure(weights: FloatArray) -> FloatArray:
        n = weights.sum(axis=1)
        mx, my = weights @ x / n, weights @ y / n
        sxx, syy = weights @ (x * x) / n - mx * mx, weights @ (y * y) / n - my * my
        sxy = weights @ (x * y) / n - mx * my
        varies = _varies(x, weights) & _varies(y, weights)
        return _quotient(sxy, sxx, syy, defined=varies)

    return measure


def spearman(x: FloatArray, y: FloatArray) -> Measure:
    rank_x, rank_y = _ranker(x), _ranker(y)

    def measure(weights: FloatArray) -> FloatArray:
        # Average ranks of n items always have the mean (n + 1) / 2.
        middle = (weights.sum(axis=1, keepdims=True) + 1) / 2
        dx, dy = rank_x(weights) - middle, rank_y(weights) - middle
        sxx, syy, sxy = ((weights * product).sum(axis=1) for product in (dx * dx, dy * dy, dx * dy))
        return _quotient(sxy, sxx, syy, defined=(sxx > 0) & (syy > 0))

    return measure


def kendall(x: FloatArray, y: FloatArray) -> Measure:
    ties_x, ties_y = _tie_groups(x), _tie_groups(y)

    def measure(weights: FloatArray) -> FloatArray:
        n = weights.sum(axis=1)
        all_pairs = n * (n - 1) / 2
        untied_x, untied_y = (all_pairs - _tied_pairs(weights, ties) for ties in (ties_x, ties_y))
        balance = _concordant_less_discordant(x, y, weights)
        return _quotient(balance, untied_x, untied_y, defined=(untied_x > 0) & (untied_y > 0))

    return measure


def why_undefined(x: FloatArray, y: FloatArray) -> str | None:
    """A code of `bootstrap.SENTENCES` where two columns of finite numbers have no correlation."""
    if len(x) < _FEWEST:
        return "too_few"
    if _is_constant(x):
        return "constant_scores"
    return "constant_humans" if _is_constant(y) else None


def _is_constant(values: FloatArray) -> bool:
    """Differences that are rounding alone are none."""
    return bool(np.ptp(values) <= 1e-13 * np.abs(values).max())


def _varies(values: FloatArray, weights: FloatArray) -> BoolArray:
    there = weights > 0
    return np.asarray(
        np.where(there, values, -np.inf).max(axis=1) > np.where(there, values, np.inf).min(axis=1)
    )


def _quotient(sxy: FloatArray, sxx: FloatArray, syy: FloatArray, *, defined: BoolArray) -> FloatArray:
    below = np.sqrt(np.where(defined, np.maximum(sxx, 0.0) * np.maximum(syy, 0.0), 0.0))
    found = np.divide(sxy, below, out=np.full(len(below), np.nan), where=below > 0)
    return np.asarray(np.clip(found, -1.0, 1.0))


def _tie_groups(values: FloatArray) -> tuple[IntArray, IntArray, IntArray]:
    """The items in ascending order, where each distinct value begins, and which distinct value each item has."""
    distinct, which = np.unique(values, return_inverse=True)
    order = np.argsort(which, kind="stable")
    return order, np.searchsorted(which[order], np.arange(len(distinct))), which


def _per_group(weights: FloatArray, ties: tuple[IntArray, IntArray, IntArray]) -> FloatArray:
    order, starts, _which = ties
    return np.asarray(np.add.reduceat(weights[:, order], starts, axis=1))


def _tied_pairs(weights: FloatArray, ties: tuple[IntArray, IntArray, IntArray]) -> FloatArray:
    times = _per_group(weights, ties)
    return np.asarray((times * (times - 1)).sum(axis=1) / 2)


def _ranker(values: FloatArray) -> Callable[[FloatArray], FloatArray]:
    ties = _tie_groups(values)

    def ranks(weights: FloatArray) -> FloatArray:
        times = _per_group(weights, ties)
        middle = np.cumsum(times, axis=1) - times + (times + 1) / 2
        return np.asarray(middle[:, ties[2]])

    return ranks


def _concordant_less_discordant(x: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    """Pairs in the same order less pairs in opposite orders; (n, n) signs a few rows at a time."""
    n, total = len(x), np.zeros(len(weights))
    rows = max(1, _PAIRS_AT_ONCE // n)
    for start in range(0, n, rows):
        part = slice(start, min(n, start + rows))
        signs = np.sign(x[part, None] - x[None, :]) * np.sign(y[part, None] - y[None, :])
        # Sums of small whole numbers: exact in single precision, and twice as fast.
        sums = weights.astype(np.float32) @ signs.astype(np.float32).T
        total += (sums.astype(np.float64) * weights[:, part]).sum(axis=1)
    return total / 2
