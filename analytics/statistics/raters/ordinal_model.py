"""Ordinal ratings by raters of different severity and consistency: a cumulative logit model.

    P(rating <= k) = sigmoid(a_r (c_k - (theta_u - b_r)))

theta: what the unit is worth; b: the rater's severity; a: their discrimination, how closely their ratings follow it
(many-facet Rasch model of Linacre, 1989, with the discrimination of Samejima's graded response model, 1969). Estimates
are maximum a posteriori: theta and b normal with standard deviation 1 and 0.5 (in units of theta), log a normal with
0.5 around 0. Standard errors are from the curvature at the maximum, each as if the other sides' were known.

For scales without points, `analytics.statistics.ratings.rater_severity` has the additive model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.statistics.arrays import FloatArray, IntArray
from analytics.statistics.bootstrap import Interval
from analytics.statistics.intervals import t_quantile

SEVERITY_SD, DISCRIMINATION_SD = 0.5, 0.5
_MOST_DF = 10_000
_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class OrdinalModel:
    """adjusted: (units,) the rating expected of an average rater, on the scale; unweighted: the plain mean.
    theta, theta_se: (units,). severity, severity_se, discrimination: (raters,); NaN without ratings. severity_points:
    the same on the scale: how far below an average rater's the rater's expected ratings of the study's units lie.
    discrimination_se is of its log. thresholds: (points - 1,). n: ratings by rater."""

    adjusted: FloatArray
    unweighted: FloatArray
    theta: FloatArray
    theta_se: FloatArray
    severity: FloatArray
    severity_se: FloatArray
    severity_points: FloatArray
    discrimination: FloatArray
    discrimination_se: FloatArray
    thresholds: FloatArray
    n: IntArray
    converged: bool

    def discrimination_interval(self, rater: int, *, level: float) -> Interval | None:
        centre, se = self.discrimination[rater], self.discrimination_se[rater]
        if np.isnan(centre) or np.isnan(se):
            return None
        z = t_quantile((1 + level) / 2, df=_MOST_DF)
        return float(centre * np.exp(-z * se)), float(centre * np.exp(z * se))


def ordinal_severities(
    unit: IntArray, rater: IntArray, value: FloatArray, *, points: FloatArray
) -> OrdinalModel:
    """unit, rater: numbers from 0, a row per rating; `points`: the scale, ascending. Raises ValueError for ratings by
    unnamed raters and for values that are not on the scale."""
    from scipy.optimize import minimize  # takes a moment to load: only with a report

    place = _places(rater, value, points)
    posterior = _Posterior(
        unit, rater, place, int(unit.max(initial=-1)) + 1, int(rater.max(initial=-1)) + 1, len(points)
    )
    options = {"maxiter": 2000, "maxfun": 4000}
    found = minimize(posterior.loss, posterior.start(), jac=True, method="L-BFGS-B", options=options)
    return _model(posterior, found.x, value, points, converged=bool(found.success))


def _places(rater: IntArray, value: FloatArray, points: FloatArray) -> IntArray:
    if len(rater) and rater.min() < 0:
        raise ValueError("Severity is somebody's: ratings of unnamed raters have to be left out.")
    place = np.searchsorted(points, value)
    if len(value) and (place.max() >= len(points) or not np.allclose(points[place], value)):
        raise ValueError("There are ratings that are not on the scale.")
    return np.asarray(place)


@dataclass(frozen=True, eq=False)
class _Posterior:
    """Of theta, severity, log slope, and the first threshold with the logs of the steps to the others: one vector."""

    unit: IntArray
    rater: IntArray
    place: IntArray
    units: int
    raters: int
    k: int

    def start(self) -> FloatArray:
        x = np.zeros(self.units + 2 * self.raters + self.k - 1)
        x[self.units + 2 * self.raters :] = _first_cuts(self.place, self.k)
        return x

    def parts(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """theta, severity, slope, thresholds."""
        theta, severity, log_slope, steps = np.split(x, np.cumsum([self.units, self.raters, self.raters]))
        cuts = np.cumsum(np.concatenate([steps[:1], np.exp(steps[1:])]))
        return theta, severity, np.exp(log_slope), cuts

    def loss(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Minus the log posterior, and its gradient."""
        theta, severity, slope, cuts = self.parts(x)
        a, eta = slope[self.rater], theta[self.unit] - severity[self.rater]
        edges = np.concatenate([[-np.inf], cuts, [np.inf]])
        upper, lower = (_sigmoid(a * (edges[self.place + side] - eta)) for side in (1, 0))
        chance = np.maximum(upper - lower, _TINY)
        by_upper, by_lower = upper * (1 - upper) / chance, lower * (1 - lower) / chance
        by_eta = -a * (by_upper - by_lower)
        up, low = (
            np.where(np.isinf(edges[self.place + side]), 0.0, edges[self.place + side] - eta)
            for side in (1, 0)
        )
        by_slope = a * (by_upper * up - by_lower * low)
        value = -np.log(chance).sum() + (theta @ theta) / 2
        value += (severity @ severity) / (2 * SEVERITY_SD**2)
        value += (np.log(slope) @ np.log(slope)) / (2 * DISCRIMINATION_SD**2)
        gradient = np.concatenate([
            -np.bincount(self.unit, weights=by_eta, minlength=self.units) + theta,
            np.bincount(self.rater, weights=by_eta, minlength=self.raters) + severity / SEVERITY_SD**2,
            -np.bincount(self.rater, weights=by_slope, minlength=self.raters) + np.log(slope) / DISCRIMINATION_SD**2,
            self._by_steps(x, a * by_upper, a * by_lower),
        ])  # fmt: skip
        return float(value), gradient

    def _by_steps(self, x: FloatArray, upper: FloatArray, lower: FloatArray) -> FloatArray:
        by_cut = np.bincount(self.place + 1, weights=upper, minlength=self.k + 1)
        by_cut = (by_cut - np.bincount(self.place, weights=lower, minlength=self.k + 1))[1 : self.k]
        tail = np.cumsum(by_cut[::-1])[::-1]  # a step moves every later cut
        return np.concatenate([-tail[:1], -tail[1:] * np.exp(x[self.units + 2 * self.raters + 1 :])])


def _model(
    posterior: _Posterior, x: FloatArray, value: FloatArray, points: FloatArray, *, converged: bool
) -> OrdinalModel:
    unit, rater, units, raters = posterior.unit, posterior.rater, posterior.units, posterior.raters
    theta, severity, slope, cuts = posterior.parts(x)
    n = np.bincount(rater, minlength=raters)
    # The average rater, by ratings, has severity 0: what the units are worth moves with it.
    average_severity = float(np.average(severity, weights=n)) if n.sum() else 0.0
    theta, severity = theta - average_severity, severity - average_severity
    information = _information(theta[unit] - severity[rater], slope[rater], cuts)
    of_unit = np.bincount(unit, weights=information, minlength=units)
    of_rater = np.bincount(rater, weights=information, minlength=raters)
    spread = np.bincount(rater, weights=information * (theta[unit] - severity[rater]) ** 2, minlength=raters)
    average = float(np.exp(np.average(np.log(slope), weights=n))) if n.sum() else 1.0
    expected = _expected(theta, np.full(units, average), cuts, points)
    own = _expected(theta[unit] - severity[rater], np.full(len(unit), average), cuts, points)
    below = np.bincount(rater, weights=expected[unit] - own, minlength=raters) / np.maximum(n, 1)
    known = n > 0
    return OrdinalModel(
        adjusted=expected,
        unweighted=np.bincount(unit, weights=value, minlength=units)
        / np.maximum(np.bincount(unit, minlength=units), 1),
        theta=theta,
        theta_se=1 / np.sqrt(of_unit + 1),
        severity=np.where(known, severity, np.nan),
        severity_se=np.where(known, 1 / np.sqrt(of_rater + 1 / SEVERITY_SD**2), np.nan),
        severity_points=np.where(known, below, np.nan),
        discrimination=np.where(known, slope, np.nan),
        discrimination_se=np.where(known, 1 / np.sqrt(spread + 1 / DISCRIMINATION_SD**2), np.nan),
        thresholds=cuts,
        n=n,
        converged=converged,
    )


def _sigmoid(x: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-x)))


def _first_cuts(place: IntArray, k: int) -> FloatArray:
    """From the shares of the points: the first cut and the logs of the steps after it."""
    shares = (np.bincount(place, minlength=k) + 0.5).cumsum() / (len(place) + 0.5 * k)
    cuts = np.log(shares[:-1] / (1 - shares[:-1]))
    return np.concatenate([cuts[:1], np.log(np.maximum(np.diff(cuts), 1e-2))])


def _chances(eta: FloatArray, slope: FloatArray, cuts: FloatArray) -> FloatArray:
    """(n, points) the chance of each point."""
    below = _sigmoid(slope[:, None] * (cuts[None] - eta[:, None]))
    edges = np.concatenate([np.zeros((len(eta), 1)), below, np.ones((len(eta), 1))], axis=1)
    return np.maximum(np.diff(edges, axis=1), _TINY)


def _expected(eta: FloatArray, slope: FloatArray, cuts: FloatArray, points: FloatArray) -> FloatArray:
    return np.asarray(_chances(eta, slope, cuts) @ points)


def _information(eta: FloatArray, slope: FloatArray, cuts: FloatArray) -> FloatArray:
    """(n,) Fisher's, of eta by one rating."""
    below = _sigmoid(slope[:, None] * (cuts[None] - eta[:, None]))
    density = np.pad(below * (1 - below), ((0, 0), (1, 1)))
    return np.asarray(slope**2 * (np.diff(density, axis=1) ** 2 / _chances(eta, slope, cuts)).sum(axis=1))
