"""Correlation of scores with human ratings, over items over systems: Pearson (LCC), Spearman (SRCC), Kendall (KTAU).

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

from analytics.statistics.arrays import BoolArray, FloatArray, IntArray
from analytics.statistics.bootstrap import (
    DEFAULT_RESAMPLING,
    Estimate,
    Resampling,
    WeightedStatistic,
    cluster_numbers,
    estimate,
    paired_values,
    undefined_estimate,
)

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
    resampling: Resampling = DEFAULT_RESAMPLING,
) -> Correlations:
    """All three. Items with a NaN in either are left out first; None with a reason below three items, or where one of
    the two does not vary."""
    x, y, groups, _ = paired_values(scores, humans, clusters)
    lcc, srcc = pearson_and_spearman(x, y, clusters=groups.tolist(), resampling=resampling)
    if lcc.value is None:
        return Correlations(lcc, srcc, lcc)
    if len(x) <= _MOST_RESAMPLED_BY_PAIRS:
        return Correlations(lcc, srcc, estimate(kendall(x, y), groups, resampling=resampling))
    from scipy import stats  # takes a second to load, and nearly nobody comes here

    tau = float(stats.kendalltau(x, y).statistic)
    ktau = replace(srcc, value=tau, interval=None, reason="too_many", replicates=0, degenerate=0)
    return Correlations(lcc, srcc, ktau)


def pearson_and_spearman(
    scores: Sequence[float] | FloatArray,
    humans: Sequence[float] | FloatArray,
    *,
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling = DEFAULT_RESAMPLING,
) -> tuple[Estimate, Estimate]:
    """LCC and SRCC as in `correlations`, in a time that grows with the items and not with their square."""
    x, y, groups, _ = paired_values(scores, humans, clusters)
    if reason := undefined_reason(x, y):
        missing = undefined_estimate(reason, n=len(x), resampling=resampling)
        return missing, missing
    lcc, srcc = (estimate(make(x, y), groups, resampling=resampling) for make in (pearson, spearman))
    return lcc, srcc


def pearson(x: FloatArray, y: FloatArray) -> WeightedStatistic:
    # Taking the overall means off first keeps the digits where values are large and alike.
    x, y = x - x.mean(), y - y.mean()

    def statistic(weights: FloatArray) -> FloatArray:
        n = weights.sum(axis=1)
        mx, my = weights @ x / n, weights @ y / n
        sxx, syy = weights @ (x * x) / n - mx * mx, weights @ (y * y) / n - my * my
        sxy = weights @ (x * y) / n - mx * my
        varies = _varies(x, weights) & _varies(y, weights)
        return np.where(varies, _correlation(sxy, sxx, syy), np.nan)

    return statistic


def spearman(x: FloatArray, y: FloatArray) -> WeightedStatistic:
    ties_x, ties_y = tie_groups(x), tie_groups(y)

    def statistic(weights: FloatArray) -> FloatArray:
        # Average ranks of n items always have the mean (n + 1) / 2.
        middle = (weights.sum(axis=1, keepdims=True) + 1) / 2
        dx, dy = ties_x.ranks(weights) - middle, ties_y.ranks(weights) - middle
        sxx, syy, sxy = ((weights * product).sum(axis=1) for product in (dx * dx, dy * dy, dx * dy))
        return _correlation(sxy, sxx, syy)

    return statistic


def kendall(x: FloatArray, y: FloatArray) -> WeightedStatistic:
    ties_x, ties_y = tie_groups(x), tie_groups(y)

    def statistic(weights: FloatArray) -> FloatArray:
        n = weights.sum(axis=1)
        all_pairs = n * (n - 1) / 2
        untied_x, untied_y = (all_pairs - ties.pairs(weights) for ties in (ties_x, ties_y))
        balance = _concordant_less_discordant(x, y, weights)
        return _correlation(balance, untied_x, untied_y)

    return statistic


def undefined_reason(x: FloatArray, y: FloatArray) -> str | None:
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
    drawn = weights > 0
    return np.asarray(
        np.where(drawn, values, -np.inf).max(axis=1) > np.where(drawn, values, np.inf).min(axis=1)
    )


def _correlation(sxy: FloatArray, sxx: FloatArray, syy: FloatArray) -> FloatArray:
    """NaN where either sum of squares is not above zero."""
    scale = np.sqrt(np.where((sxx > 0) & (syy > 0), sxx * syy, 0.0))
    ratio = np.divide(sxy, scale, out=np.full(len(scale), np.nan), where=scale > 0)
    return np.asarray(np.clip(ratio, -1.0, 1.0))


@dataclass(frozen=True, eq=False)
class TieGroups:
    """Items of equal values. order: the items by value, ascending. starts: where each distinct value begins there.
    which: the distinct value of each item."""

    order: IntArray
    starts: IntArray
    which: IntArray

    def sums(self, columns: FloatArray) -> FloatArray:
        """(B, distinct) of (B, n)."""
        return np.asarray(np.add.reduceat(columns[:, self.order], self.starts, axis=1))

    def ranks(self, weights: FloatArray) -> FloatArray:
        """(B, n) average ranks of items that occur so often."""
        times = self.sums(weights)
        middle = np.cumsum(times, axis=1) - times + (times + 1) / 2
        return np.asarray(middle[:, self.which])

    def pairs(self, weights: FloatArray) -> FloatArray:
        """(B,) pairs of equal items."""
        times = self.sums(weights)
        return np.asarray((times * (times - 1)).sum(axis=1) / 2)


def tie_groups(values: FloatArray | IntArray) -> TieGroups:
    distinct, which = np.unique(values, return_inverse=True)
    order = np.argsort(which, kind="stable")
    return TieGroups(order, np.searchsorted(which[order], np.arange(len(distinct))), which)


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


# Correlations at system level: of each system's mean score with its mean human value, over systems. Another
# figure than the correlation over items, and usually a higher one, as the noise of items averages out.
# Intervals resample the items' clusters and average anew; the systems stay, so they say how sure the figure
# is for these systems.


# Row by row from (B, S) and (B, S): what is NaN in either is not there.
_Correlate = Callable[[FloatArray, FloatArray], FloatArray]


def system_correlations(
    scores: Sequence[float] | FloatArray,
    humans: Sequence[float] | FloatArray,
    systems: Sequence[Hashable],
    *,
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling = DEFAULT_RESAMPLING,
) -> Correlations:
    """systems: one per item. `n` of the figures counts systems. Items without a score or a human value are left out, so
    both means are over the same items; None with a reason below three systems, or where one of the two is equal."""
    if len(systems) != len(scores):
        raise ValueError("Needs one system per item.")
    x, y, groups, included = paired_values(scores, humans, clusters)
    by_system = tie_groups(cluster_numbers(systems, included, n=len(systems)))
    mean_x, mean_y = (_system_means(values, by_system, np.ones((1, len(x)))) for values in (x, y))
    n = mean_x.shape[1]
    if reason := undefined_reason(mean_x[0], mean_y[0]):
        missing = undefined_estimate(reason, n=n, resampling=resampling)
        return Correlations(missing, missing, missing)

    def over_systems(correlate: _Correlate) -> Estimate:
        def statistic(weights: FloatArray) -> FloatArray:
            return correlate(_system_means(x, by_system, weights), _system_means(y, by_system, weights))

        return replace(estimate(statistic, groups, resampling=resampling), n=n)

    return Correlations(over_systems(_row_pearson), over_systems(_row_spearman), over_systems(_row_kendall))


def _system_means(values: FloatArray, by_system: TieGroups, weights: FloatArray) -> FloatArray:
    """(B, S) each system's mean in each resample; NaN where nothing of it was drawn."""
    total, times = by_system.sums(weights * values), by_system.sums(weights)
    return np.asarray(np.divide(total, times, out=np.full(total.shape, np.nan), where=times > 0))


def _row_pearson(x: FloatArray, y: FloatArray) -> FloatArray:
    there = np.isfinite(x) & np.isfinite(y)
    n = np.maximum(there.sum(axis=1, keepdims=True), 1)
    dx, dy = (
        np.where(there, values - np.where(there, values, 0.0).sum(axis=1, keepdims=True) / n, 0.0)
        for values in (x, y)
    )
    return _correlation((dx * dy).sum(axis=1), (dx * dx).sum(axis=1), (dy * dy).sum(axis=1))


def _row_spearman(x: FloatArray, y: FloatArray) -> FloatArray:
    return _row_pearson(_row_ranks(x), _row_ranks(y))


def _row_ranks(values: FloatArray) -> FloatArray:
    """Average ranks in each row; comparisons with NaN are false."""
    less = (values[:, :, None] > values[:, None, :]).sum(axis=2)
    equal = (values[:, :, None] == values[:, None, :]).sum(axis=2)
    return np.where(np.isfinite(values), less + (equal + 1) / 2, np.nan)


def _row_kendall(x: FloatArray, y: FloatArray) -> FloatArray:
    signs = [np.nan_to_num(np.sign(values[:, :, None] - values[:, None, :])) for values in (x, y)]
    balance, untied_x, untied_y = (
        (first * second).sum(axis=(1, 2)) for first, second in (signs, signs[:1] * 2, signs[1:] * 2)
    )
    return _correlation(balance, untied_x, untied_y)
