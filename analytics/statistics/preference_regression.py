"""What an overall preference owes to each of two heads of a scorer (CMI-RewardBench, tables 13 and 15).

The difference of each head alone, their equal sum, and a logistic regression on both whose predictions for a pair come
from the pairs of other prompts (five folds). MSE is that of the preferred side (1 or 0) and 1 / (1 + exp(-difference));
the paper does not say how it turns a difference into a probability. Its support vector machines are left out: they
come to the same there.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from analytics.statistics.bootstrap import Estimate, Resampling, estimate, numbered, weighted_mean
from analytics.statistics.distinct_rows import FloatArray, IntArray
from analytics.statistics.logistic import cross_validated_logits, logistic_fit, probability
from analytics.statistics.pairwise_accuracy import pairwise_accuracy
from analytics.statistics.roc import auc


@dataclass(frozen=True)
class Predictor:
    """name: first, second, sum or logistic."""

    name: str
    accuracy: Estimate
    auc: Estimate
    mse: Estimate


@dataclass(frozen=True)
class PreferenceRegression:
    """coefficients, intercept: of the logistic regression on all pairs, per unit of each head. Where all pairs are of
    one prompt it cannot be tried on others, and is not among `predictors`."""

    n: int
    predictors: tuple[Predictor, ...]
    coefficients: tuple[float, float]
    intercept: float


def preference_regression(
    differences: FloatArray,
    leads: Sequence[float] | FloatArray,
    *,
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling | None = None,
) -> PreferenceRegression | None:
    """differences: (n, 2) of each head, the first side's score less the second's. leads: above 0 where people prefer
    the first. Pairs without both heads and undecided ones are left out; None where none is left."""
    resampling = resampling or Resampling()
    both, human = np.asarray(differences, dtype=np.float64), np.sign(np.asarray(leads, dtype=np.float64))
    if both.shape != (len(human), 2):
        raise ValueError("Needs two differences and a human lead per pair.")
    kept = np.isfinite(both).all(axis=1) & (human != 0)
    groups = numbered(clusters, n=len(human))[kept]
    both, human = both[kept], human[kept]
    if not len(human):
        return None
    preferred = (human > 0).astype(np.float64)
    logits = {"first": both[:, 0], "second": both[:, 1], "sum": both.sum(axis=1)}
    learnt = cross_validated_logits(both, preferred, clusters=groups, intercept=True, seed=resampling.seed)
    if learnt is not None:
        logits["logistic"] = learnt
    fit = logistic_fit(both, preferred, intercept=True)
    return PreferenceRegression(
        n=len(human),
        predictors=tuple(
            _predictor(name, logit, human, groups, resampling) for name, logit in logits.items()
        ),
        coefficients=(float(fit.coefficients[0]), float(fit.coefficients[1])),
        intercept=fit.intercept,
    )


def _predictor(
    name: str, logit: FloatArray, human: FloatArray, groups: IntArray, resampling: Resampling
) -> Predictor:
    labels = groups.tolist()
    errors = (probability(logit) - (human > 0)) ** 2
    numbers = np.unique(groups, return_inverse=True)[1]
    return Predictor(
        name=name,
        accuracy=pairwise_accuracy(logit, human, clusters=labels, resampling=resampling).accuracy,
        auc=auc(logit, human > 0, clusters=labels, resampling=resampling),
        mse=estimate(weighted_mean(errors), numbers, resampling=resampling),
    )
