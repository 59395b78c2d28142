"""Noisy Bradley-Terry: strengths of systems from preferences by raters who are more or less reliable (Crowd-BT).

Chen, Bennett, Collins-Thompson & Horvitz, "Pairwise ranking aggregation in a crowdsourced setting", WSDM 2013:

    P(rater r prefers i to j) = eta_r sigmoid(s_i - s_j) + (1 - eta_r) sigmoid(s_j - s_i)

A rater with eta 1 votes as Bradley and Terry say, with 1/2 at random, with 0 the other way round. Ties count half for
either side. Estimates are maximum a posteriori: strengths normal around 0, eta from a Beta distribution.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from analytics.statistics.arrays import FloatArray, IntArray
from analytics.statistics.bootstrap import Interval, Resampling
from analytics.statistics.raters.category_models import MOST_REPLICATES, quantile_interval

STRENGTH_SD = 2.0
# Of eta: two or three votes hardly move it. Of the priors tried on simulated votes (14 raters of 107 votes each, six of
# whom guess or invert) this one stretches strengths least: to 1.25 of the truth; unweighted ones shrink to 0.3 of it.
ETA_PRIOR = (4.0, 1.05)
_START = 0.8


@dataclass(frozen=True, eq=False)
class Preferences:
    """first, second: systems by number from 0. win: 1 where the first was preferred, 0 where the second was, 1/2 for a
    tie. A row per vote."""

    first: IntArray
    second: IntArray
    rater: IntArray
    win: FloatArray
    n_systems: int
    n_raters: int

    @classmethod
    def of(cls, first: IntArray, second: IntArray, rater: IntArray, win: FloatArray) -> Preferences:
        """Raises ValueError for votes of unnamed raters."""
        if len(rater) and rater.min() < 0:
            raise ValueError("A model of raters needs votes by named raters.")
        n_systems = int(max(first.max(initial=-1), second.max(initial=-1))) + 1
        return cls(first, second, rater, win, n_systems, int(rater.max(initial=-1)) + 1)


@dataclass(frozen=True, eq=False)
class PairModel:
    """strength: (systems,) in log-odds, adding up to 0; unweighted: the same where every rater counts alike (eta is 1
    for all). reliability: (raters,) eta; NaN without votes. The intervals are there where they were asked for."""

    strength: FloatArray
    unweighted: FloatArray
    reliability: FloatArray
    n: IntArray
    converged: bool
    strength_intervals: tuple[Interval | None, ...] = ()
    unweighted_intervals: tuple[Interval | None, ...] = ()
    intervals: tuple[Interval | None, ...] = ()


def noisy_bradley_terry(
    votes: Preferences, weight: FloatArray | None = None, start: PairModel | None = None
) -> PairModel:
    """`weight`: (rows,) how often each vote counts; once without. `start`: estimates to begin with."""
    rows = _Rows.of(votes, np.ones(len(votes.first)) if weight is None else weight)
    strength, eta, converged = _fit(rows, votes, start, with_raters=True)
    unweighted, _, _ = _fit(rows, votes, start, with_raters=False)
    n = np.bincount(votes.rater, minlength=votes.n_raters)
    return PairModel(strength, unweighted, np.where(n > 0, eta, np.nan), n, converged)


def with_intervals(votes: Preferences, *, clusters: IntArray, resampling: Resampling) -> PairModel:
    """With percentile intervals from a bootstrap of `clusters`, (rows,): of the prompts or items voted on."""
    model = noisy_bradley_terry(votes)
    group = np.unique(clusters, return_inverse=True)[1]
    n_groups = int(group.max(initial=-1)) + 1
    replicates = min(resampling.replicates, MOST_REPLICATES)
    rng = np.random.default_rng(resampling.seed)
    drawn: list[FloatArray] = []
    for _ in range(replicates if n_groups > 1 else 0):
        times = np.bincount(rng.integers(n_groups, size=n_groups), minlength=n_groups)[group].astype(
            np.float64
        )
        fitted = noisy_bradley_terry(votes, times, model)
        voted = np.bincount(votes.rater, weights=times, minlength=votes.n_raters) > 0
        reliability = np.where(voted, fitted.reliability, np.nan)
        drawn.append(np.concatenate([fitted.strength, fitted.unweighted, reliability]))
    if not drawn:
        return model
    intervals = [quantile_interval(column, resampling.level) for column in np.stack(drawn).T]
    k = votes.n_systems
    return replace(
        model,
        strength_intervals=tuple(intervals[:k]),
        unweighted_intervals=tuple(intervals[k : 2 * k]),
        intervals=tuple(intervals[2 * k :]),
    )


@dataclass(frozen=True, eq=False)
class _Rows:
    """Equal votes of one rater on one pair of systems are one row."""

    first: IntArray
    second: IntArray
    rater: IntArray
    wins: FloatArray
    losses: FloatArray

    @classmethod
    def of(cls, votes: Preferences, weight: FloatArray) -> _Rows:
        k = max(votes.n_systems, 1)
        cells, cell = np.unique((votes.rater * k + votes.first) * k + votes.second, return_inverse=True)
        wins: FloatArray = np.bincount(cell, weights=weight * votes.win, minlength=len(cells)).astype(
            np.float64
        )
        losses: FloatArray = np.bincount(cell, weights=weight * (1 - votes.win), minlength=len(cells)).astype(
            np.float64
        )
        return cls(cells // k % k, cells % k, cells // (k * k), wins, losses)


def _fit(
    rows: _Rows, votes: Preferences, before: PairModel | None, *, with_raters: bool
) -> tuple[FloatArray, FloatArray, bool]:
    """(systems,) strengths, (raters,) eta, and whether the maximum was reached."""
    from scipy.optimize import minimize  # takes a moment to load: only with a report

    k, raters = votes.n_systems, votes.n_raters
    a, b = ETA_PRIOR

    def objective(x: FloatArray) -> tuple[float, FloatArray]:
        strength = x[:k]
        eta = 1 / (1 + np.exp(-x[k:])) if with_raters else np.ones(raters)
        own = eta[rows.rater]
        ahead = 1 / (1 + np.exp(strength[rows.second] - strength[rows.first]))
        win = np.clip(own * ahead + (1 - own) * (1 - ahead), 1e-12, 1 - 1e-12)
        value = -(rows.wins @ np.log(win) + rows.losses @ np.log1p(-win))
        value += (strength @ strength) / (2 * STRENGTH_SD**2)
        by_win = rows.losses / (1 - win) - rows.wins / win
        by_difference = by_win * (2 * own - 1) * ahead * (1 - ahead)
        gradient = np.zeros_like(x)
        gradient[:k] = (
            np.bincount(rows.first, weights=by_difference, minlength=k)
            - np.bincount(rows.second, weights=by_difference, minlength=k)
            + strength / STRENGTH_SD**2
        )
        if with_raters:
            value -= float(((a - 1) * np.log(eta) + (b - 1) * np.log1p(-eta)).sum())
            by_eta = np.bincount(rows.rater, weights=by_win * (2 * ahead - 1), minlength=raters)
            gradient[k:] = by_eta * eta * (1 - eta) - (a - 1) * (1 - eta) + (b - 1) * eta
        return float(value), gradient

    start = np.zeros(k + (raters if with_raters else 0))
    start[k:] = np.log(_START / (1 - _START))
    if before is not None:
        eta = np.clip(np.nan_to_num(before.reliability, nan=_START), 1e-5, 1 - 1e-5)
        start[:k] = before.strength if with_raters else before.unweighted
        start[k:] = np.log(eta / (1 - eta))[: len(start) - k]
    bounds = [(None, None)] * k + [(-12.0, 12.0)] * (len(start) - k)
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 1000})
    strength = found.x[:k] - found.x[:k].mean() if k else found.x[:k]
    eta = 1 / (1 + np.exp(-found.x[k:])) if with_raters else np.ones(raters)
    return np.asarray(strength), np.asarray(eta), bool(found.success)
