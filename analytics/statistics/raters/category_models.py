"""Models of raters who choose categories: Dawid-Skene (a confusion matrix each) and MACE (a competence each), by EM.

Dawid & Skene, "Maximum likelihood estimation of observer error-rates using the EM algorithm", Applied Statistics 28,
1979. Hovy, Berg-Kirkpatrick, Vaswani & Hovy, "Learning whom to trust with MACE", NAACL 2013. Both give each unit a
posterior over its true category and each rater what is known of their reliability.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from analytics.statistics.arrays import FloatArray, IntArray
from analytics.statistics.bootstrap import Interval, Resampling

# Judgments by which a rater's confusion matrix leans towards that of all raters: somebody of whom little is known is
# taken for an average rater. 0 is maximum likelihood, as published.
SMOOTHING = 2.0
_ITERATIONS = 500
_TOLERANCE = 1e-9
_TINY = 1e-12
# Units drawn again for the intervals; more tell no more than their last digit.
MOST_REPLICATES = 100


@dataclass(frozen=True, eq=False)
class Votes:
    """Votes on categories: unit, rater and label as numbers from 0, a row per vote. A rater may judge a unit twice."""

    unit: IntArray
    rater: IntArray
    label: IntArray
    n_units: int
    n_raters: int
    n_classes: int

    @classmethod
    def of(cls, unit: IntArray, rater: IntArray, label: IntArray, *, n_classes: int) -> Votes:
        """Raises ValueError for votes of unnamed raters, whom no model knows."""
        if not len(unit) == len(rater) == len(label):
            raise ValueError(f"Columns of equal length are needed: {len(unit)}, {len(rater)}, {len(label)}.")
        if len(rater) and min(rater.min(), unit.min(), label.min()) < 0:
            raise ValueError("A model of raters needs votes by named raters, with units and labels from 0.")
        if len(label) and label.max() >= n_classes:
            raise ValueError(f"Label {label.max()} is beyond the {n_classes} classes.")
        sizes = (int(unit.max(initial=-1)) + 1, int(rater.max(initial=-1)) + 1)
        return cls(unit, rater, label, *sizes, n_classes)


@dataclass(frozen=True, eq=False)
class CategoryModel:
    """posterior: (units, classes) the chance of each true category. prevalence: (classes,). confusion: (raters, true,
    given). reliability: (raters,) of Dawid-Skene the chance that the rater gives the true category of a unit drawn from
    the study; of MACE their competence, the share of votes that they do not merely guess. NaN for raters without votes.

    intervals: of the reliabilities, where they were asked for; None for who is in too few resamples. log_likelihood:
    of the votes, at the fit. converged: it changed no more.
    """

    name: str
    posterior: FloatArray
    prevalence: FloatArray
    confusion: FloatArray
    reliability: FloatArray
    n: IntArray
    log_likelihood: float
    converged: bool
    intervals: tuple[Interval | None, ...] = ()

    @property
    def label(self) -> IntArray:
        """(units,) the most probable category."""
        return np.asarray(self.posterior.argmax(axis=1))

    @property
    def certainty(self) -> FloatArray:
        """(units,) its chance."""
        return np.asarray(self.posterior.max(axis=1))


Fit = Callable[[Votes, "FloatArray | None", "FloatArray | None"], CategoryModel]


def dawid_skene(
    votes: Votes,
    weight: FloatArray | None = None,
    start: FloatArray | None = None,
    *,
    smoothing: float = SMOOTHING,
) -> CategoryModel:
    """`weight`: (units,) how often each unit counts; once without. `start`: (units, classes) where to begin.

    Without a start it begins with the shares of the votes (the paper's 3.1), so that a category keeps its name. With
    `smoothing` the estimates are maximum a posteriori under a Dirichlet prior around the confusion matrix of all raters
    together.
    """
    weights = np.ones(votes.n_units) if weight is None else weight
    posterior = vote_shares(votes) if start is None else start
    confusion, prevalence = _confusion(votes, posterior, weights, smoothing), _prevalence(posterior, weights)
    before, converged = -np.inf, False
    for _ in range(_ITERATIONS):
        posterior, likelihood = _posterior(votes, confusion, prevalence, weights)
        confusion = _confusion(votes, posterior, weights, smoothing)
        prevalence = _prevalence(posterior, weights)
        converged = abs(likelihood - before) <= _TOLERANCE * (1 + abs(likelihood))
        before = likelihood
        if converged:
            break
    n = np.bincount(votes.rater, minlength=votes.n_raters)
    correct = np.einsum("k,rkk->r", prevalence, confusion)
    reliability = np.where(n > 0, correct, np.nan)
    return CategoryModel("dawid_skene", posterior, prevalence, confusion, reliability, n, before, converged)


def mace(
    votes: Votes,
    weight: FloatArray | None = None,
    start: FloatArray | None = None,
    *,
    smoothing: float = 0.5,
) -> CategoryModel:
    """A rater either gives the true category or guesses from a distribution of their own; true categories are equally
    probable beforehand, as in the paper. `smoothing`: pseudo-counts of either, for each rater."""
    weights = np.ones(votes.n_units) if weight is None else weight
    k, rows = votes.n_classes, weights[votes.unit]
    posterior = vote_shares(votes) if start is None else start
    competence = np.full(votes.n_raters, 0.5)
    guesses = np.full((votes.n_raters, k), 1 / k)
    uniform = np.full(k, 1 / k)
    before, converged = -np.inf, False
    for _ in range(_ITERATIONS):
        knows = competence[votes.rater]
        guessed = (1 - knows) * guesses[votes.rater, votes.label]
        right = posterior[votes.unit, votes.label]
        known = right * knows / np.maximum(knows + guessed, _TINY)
        n_known = np.bincount(votes.rater, weights=rows * known, minlength=votes.n_raters)
        n_all = np.bincount(votes.rater, weights=rows, minlength=votes.n_raters)
        competence = (n_known + smoothing) / (n_all + 2 * smoothing)
        cells = votes.rater * k + votes.label
        drawn = np.bincount(cells, weights=rows * (1 - known), minlength=votes.n_raters * k).reshape(-1, k)
        guesses = (drawn + smoothing / k) / (drawn.sum(axis=1, keepdims=True) + smoothing)
        confusion = (1 - competence)[:, None, None] * guesses[:, None, :] + (
            competence[:, None, None] * np.eye(k)[None]
        )
        posterior, likelihood = _posterior(votes, confusion, uniform, weights)
        converged = abs(likelihood - before) <= _TOLERANCE * (1 + abs(likelihood))
        before = likelihood
        if converged:
            break
    n = np.bincount(votes.rater, minlength=votes.n_raters)
    reliability = np.where(n > 0, competence, np.nan)
    prevalence = _prevalence(posterior, weights)
    return CategoryModel("mace", posterior, prevalence, confusion, reliability, n, before, converged)


def with_intervals(
    fit: Fit, votes: Votes, *, clusters: IntArray | None = None, resampling: Resampling
) -> CategoryModel:
    """The fit with percentile intervals of the reliabilities: units (or `clusters` of them, such as prompts) are drawn
    with replacement, at most MOST_REPLICATES times."""
    model = fit(votes, None, None)
    group = np.arange(votes.n_units) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    n_groups = int(group.max(initial=-1)) + 1
    rng = np.random.default_rng(resampling.seed)
    replicates = min(resampling.replicates, MOST_REPLICATES)
    drawn = np.full((replicates, votes.n_raters), np.nan)
    if n_groups > 1:
        for row in range(replicates):
            times = np.bincount(rng.integers(n_groups, size=n_groups), minlength=n_groups)[group]
            kept = times[votes.unit] > 0
            fitted = fit(replace(votes, unit=votes.unit[kept], rater=votes.rater[kept], label=votes.label[kept]),
                         times.astype(np.float64), None)  # fmt: skip
            drawn[row] = fitted.reliability
    return replace(model, intervals=tuple(quantile_interval(column, resampling.level) for column in drawn.T))


def quantile_interval(values: FloatArray, level: float) -> Interval | None:
    """Between the percentiles of the replicates that have a value; None where fewer than half of them do."""
    defined = values[~np.isnan(values)]
    if len(defined) < max(2, len(values) / 2):
        return None
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def vote_shares(votes: Votes) -> FloatArray:
    """(units, classes) of the votes; even where there is none. This is the figure without any model."""
    counts = np.bincount(
        votes.unit * votes.n_classes + votes.label, minlength=votes.n_units * votes.n_classes
    ).reshape(votes.n_units, votes.n_classes)
    total = counts.sum(axis=1, keepdims=True)
    return np.where(total > 0, counts / np.maximum(total, 1), 1 / votes.n_classes)


def _prevalence(posterior: FloatArray, weights: FloatArray) -> FloatArray:
    return np.asarray(weights @ posterior / max(float(weights.sum()), _TINY))


def _confusion(votes: Votes, posterior: FloatArray, weights: FloatArray, smoothing: float) -> FloatArray:
    """(raters, true, given). A true category that a rater never met has the row of all raters, or an even one."""
    k, rows = votes.n_classes, weights[votes.unit]
    cells = votes.rater * k + votes.label
    counts = np.stack(
        [
            np.bincount(cells, weights=rows * posterior[votes.unit, true], minlength=votes.n_raters * k)
            .reshape(votes.n_raters, k)
            for true in range(k)
        ],
        axis=1,
    )  # fmt: skip
    pooled = counts.sum(axis=0)
    total = pooled.sum(axis=1, keepdims=True)
    pooled = np.where(total > _TINY, pooled / np.maximum(total, _TINY), 1 / k)
    prior = max(smoothing, _TINY)
    return np.asarray((counts + prior * pooled) / (counts.sum(axis=2, keepdims=True) + prior))


def _posterior(
    votes: Votes, confusion: FloatArray, prevalence: FloatArray, weights: FloatArray
) -> tuple[FloatArray, float]:
    """(units, classes) and the log-likelihood."""
    logs = np.log(np.maximum(confusion, _TINY))
    joint = np.stack(
        [
            np.bincount(votes.unit, weights=logs[votes.rater, true, votes.label], minlength=votes.n_units)
            for true in range(votes.n_classes)
        ],
        axis=1,
    ) + np.log(np.maximum(prevalence, _TINY))
    top = joint.max(axis=1, keepdims=True)
    chances = np.exp(joint - top)
    total = chances.sum(axis=1, keepdims=True)
    likelihood = float(weights @ (top + np.log(total))[:, 0])
    return np.asarray(chances / total), likelihood
