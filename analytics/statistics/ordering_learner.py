"""A reward model that learns from votes as they come, and what model and votes say together.

It stands in for a scorer: fast enough to be fitted anew after every few votes, and right only as far as what it hears
is. A pair's log-odds of being won by its first clip are a weighted sum of features (Bradley & Terry 1952, with
explanatory variables as in Springall 1973).
"""

from __future__ import annotations

import numpy as np

from analytics.statistics.distinct_rows import FloatArray, IntArray

# Standard deviations of what is taken for granted before any vote: of a weight, and of a pair around what the model
# says of it. In log-odds.
WEIGHT_SD = 1.5
PAIR_SD = 1.0
_STEPS = 100
_CLOSE = 1e-8
_HALVINGS = 40


def fitted_weights(
    features: FloatArray, first: IntArray, second: IntArray, *, start: FloatArray
) -> FloatArray:
    """(k,) the most probable weights after so many votes for the first and the second of each of n pairs."""
    n = first + second
    voted = n > 0
    x, wins, n = features[voted], first[voted], n[voted]
    weights, worth = start, _worth(start, x, wins, n)
    for _ in range(_STEPS):
        share = _logistic(x @ weights)
        gradient = x.T @ (wins - n * share) - weights / WEIGHT_SD**2
        curvature = (x.T * (n * share * (1 - share))) @ x + np.eye(len(weights)) / WEIGHT_SD**2
        step = np.linalg.solve(curvature, gradient)
        # Newton's step may go too far where few votes make the logistic steep: then half of it, and so on.
        while (there := _worth(weights + step, x, wins, n)) < worth and float(np.abs(step).max()) > _CLOSE:
            step = step / 2
        if float(np.abs(step).max()) <= _CLOSE:
            break
        weights, worth = weights + step, there
    return weights


def _worth(weights: FloatArray, x: FloatArray, wins: IntArray, n: IntArray) -> float:
    """The logarithm of the weights' probability, up to a constant."""
    logits = x @ weights
    likely = wins @ logits - n @ np.logaddexp(0, logits)
    return float(likely - weights @ weights / (2 * WEIGHT_SD**2))


def with_votes(margins: FloatArray, first: IntArray, second: IntArray) -> FloatArray:
    """(n,) the most probable log-odds of each pair: the model's margin, moved by the pair's own votes."""
    n = first + second
    # The slope falls all along, and each of n votes moves the pair by a prior variance at most: so halve the interval.
    low, high = margins - n * PAIR_SD**2, margins + n * PAIR_SD**2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        rising = first - n * _logistic(middle) > (middle - margins) / PAIR_SD**2
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return np.asarray((low + high) / 2)


def told_rightly(said: FloatArray, truth: FloatArray) -> float:
    """The share of pairs whose better side is told; half of those of which nothing is said."""
    return float(np.mean(np.where(said == 0, 0.5, np.sign(said) == np.sign(truth))))


def _logistic(x: FloatArray) -> FloatArray:
    return np.asarray(1 / (1 + np.exp(-np.clip(x, -40, 40))))
