"""Logistic regression by Newton's method, and its predictions for what it has not seen.

Coefficients maximise the log-likelihood less penalty / 2 times the sum of their squares, taken per root mean square of
their feature; so the fit exists even where a feature tells the classes apart without fault, and does not depend on the
unit of a score. The intercept is not penalised. (Hastie, Tibshirani & Friedman, "The Elements of Statistical
Learning", 2nd ed. 2009, section 4.4; Platt 1999 for scores turned into probabilities this way.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.statistics.distinct_rows import FloatArray, IntArray

FOLDS = 5
PENALTY = 1.0
_STEPS = 100
_CLOSE = 1e-12


@dataclass(frozen=True, eq=False)
class Logistic:
    """`coefficients` are per unit of each feature."""

    coefficients: FloatArray
    intercept: float

    def logits(self, features: FloatArray) -> FloatArray:
        return np.asarray(features @ self.coefficients + self.intercept)


def logistic_fit(
    features: FloatArray, targets: FloatArray, *, intercept: bool, penalty: float = PENALTY
) -> Logistic:
    """features: (n, k). targets: (n,) from 0 to 1; shares count as that much of either class."""
    if features.ndim != 2 or targets.shape != (len(features),) or not len(features):
        raise ValueError("Needs a row of features and a target for each of one or more items.")
    if not (np.isfinite(features).all() and ((targets >= 0) & (targets <= 1)).all()):
        raise ValueError("Needs finite features, and targets from 0 to 1.")
    scale = np.sqrt((features**2).mean(axis=0))
    scale[scale == 0] = 1.0
    design = features / scale
    ridge = np.full(features.shape[1], penalty)
    if intercept:
        design = np.column_stack([design, np.ones(len(design))])
        # Hardly any penalty, and still a finite intercept where all targets are of one class.
        ridge = np.append(ridge, 1e-6)
    found = _newton(design, targets, ridge)
    slopes = found[: features.shape[1]] / scale
    return Logistic(slopes, float(found[-1]) if intercept else 0.0)


def grouped_folds(clusters: IntArray, *, folds: int = FOLDS, seed: int = 0) -> IntArray:
    """(n,) the fold of each item: items of one cluster together, the folds about equally large.

    Clusters go, the largest first and equals in an order drawn from the seed, to the fold with the fewest items.
    Where there are fewer clusters than folds, each is a fold.
    """
    labels, which, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    order = np.lexsort((np.random.default_rng(seed).permutation(len(labels)), -sizes))
    held = np.zeros(min(folds, len(labels)), dtype=np.int64)
    fold_of = np.zeros(len(labels), dtype=np.int64)
    for label in order:
        fold_of[label] = held.argmin()
        held[fold_of[label]] += sizes[label]
    return np.asarray(fold_of[which])


def cross_validated_logits(
    features: FloatArray,
    targets: FloatArray,
    *,
    clusters: IntArray,
    intercept: bool,
    folds: int = FOLDS,
    seed: int = 0,
) -> FloatArray | None:
    """Each item's logit by the fit to the other folds; None where all items belong together."""
    fold_of = grouped_folds(clusters, folds=folds, seed=seed)
    if not len(fold_of) or fold_of.max() == 0:
        return None
    found = np.empty(len(targets))
    for fold in range(int(fold_of.max()) + 1):
        out = fold_of == fold
        found[out] = logistic_fit(features[~out], targets[~out], intercept=intercept).logits(features[out])
    return found


def probability(logits: FloatArray) -> FloatArray:
    """1 / (1 + exp(-logit)), whatever its size."""
    below = np.exp(-np.abs(logits))
    return np.asarray(np.where(logits >= 0, 1 / (1 + below), below / (1 + below)))


def _newton(design: FloatArray, targets: FloatArray, ridge: FloatArray) -> FloatArray:
    found = np.zeros(design.shape[1])
    loss = _loss(design, targets, ridge, found)
    for _ in range(_STEPS):
        p = probability(design @ found)
        gradient = design.T @ (targets - p) - ridge * found
        curvature = (design * (p * (1 - p))[:, None]).T @ design + np.diag(ridge)
        step = np.linalg.solve(curvature, gradient)
        # The loss is convex: halving a step that overshoots is enough to go down all the way.
        while (new := _loss(design, targets, ridge, found + step)) > loss and np.abs(step).max() > _CLOSE:
            step = step / 2
        found, loss = found + step, new
        if np.abs(step).max() <= _CLOSE * (1 + np.abs(found).max()):
            break
    return found


def _loss(design: FloatArray, targets: FloatArray, ridge: FloatArray, at: FloatArray) -> float:
    logits = design @ at
    return float((np.logaddexp(0.0, logits) - targets * logits).sum() + (ridge * at**2).sum() / 2)
