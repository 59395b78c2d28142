"""How many votes one order saves against another at equal accuracy, with an interval.

Curves of accuracy against votes are averaged over replicates and made monotone (isotonic regression: Robertson, Wright
& Dykstra 1988); the votes for an accuracy are where that curve first reaches it, between two moments in proportion. The
interval is the percentile bootstrap's over whole replicates, both orders' runs of one replicate together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.statistics.distinct_rows import FloatArray

LEVEL = 0.95
RESAMPLES = 1000

SENTENCES = {
    "few_replicates": "An interval takes three replicates or more.",
    "not_reached": "The order did not reach this accuracy with the votes simulated.",
    "reference_not_reached": "Random order did not reach this accuracy with the votes simulated.",
    "mostly_not_reached": "In most resamples of the replicates one of the orders did not reach this accuracy.",
}


@dataclass(frozen=True)
class Saving:
    """At one accuracy: votes that random order needs, that the order needs, and the share of votes that it saves
    (negative where it needs more), with its interval. reason: a code of SENTENCES where something is None."""

    accuracy: float
    reference_votes: float | None
    votes: float | None
    saved: float | None
    interval: tuple[float, float] | None
    reason: str | None


def saving(
    reference: FloatArray, other: FloatArray, moments: FloatArray, *, accuracy: float, seed: int = 1
) -> Saving:
    """reference, other: (replicates, moments) accuracies of the two orders, replicate by replicate on one world."""
    whole = np.ones((1, len(reference)))
    before, after = (float(_votes_needed(each, moments, whole, accuracy)[0]) for each in (reference, other))
    if not before > 0:  # NaN is not
        return Saving(accuracy, None, _or_none(after), None, None, "reference_not_reached")
    if np.isnan(after):
        return Saving(accuracy, before, None, None, None, "not_reached")
    interval, reason = _interval(reference, other, moments, accuracy=accuracy, seed=seed)
    return Saving(accuracy, before, after, 1 - after / before, interval, reason)


def _or_none(votes: float) -> float | None:
    return None if np.isnan(votes) else votes


def monotone(curves: FloatArray) -> FloatArray:
    """(b, moments) the nearest curves that never fall, by the max-min formula."""
    n = curves.shape[1]
    sums = np.concatenate([np.zeros((len(curves), 1)), np.cumsum(curves, axis=1)], axis=1)
    lengths = np.arange(1, n + 1)[None, :] - np.arange(n)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        means = (sums[:, None, 1:] - sums[:, :-1, None]) / lengths  # (b, from, to)
    means[:, lengths <= 0] = np.inf
    lowest = np.minimum.accumulate(means[:, :, ::-1], axis=2)[:, :, ::-1]  # over all ends from `to` on
    lowest[:, lengths <= 0] = -np.inf
    return np.asarray(lowest.max(axis=1))


def _votes_needed(runs: FloatArray, moments: FloatArray, weights: FloatArray, accuracy: float) -> FloatArray:
    """(b,) for each row of `weights` over replicates; NaN where the mean curve does not reach the accuracy."""
    curves = monotone(weights @ runs / weights.sum(axis=1, keepdims=True))
    reached = curves >= accuracy - 1e-12
    k = reached.argmax(axis=1)
    rows = np.arange(len(curves))
    here, before = curves[rows, k], curves[rows, np.maximum(k - 1, 0)]
    share = np.where(here > before, (accuracy - before) / np.where(here > before, here - before, 1.0), 1.0)
    found = moments[np.maximum(k - 1, 0)] + share * (moments[k] - moments[np.maximum(k - 1, 0)])
    return np.asarray(np.where(reached.any(axis=1), found, np.nan))


def _interval(
    reference: FloatArray, other: FloatArray, moments: FloatArray, *, accuracy: float, seed: int
) -> tuple[tuple[float, float] | None, str | None]:
    n = len(reference)
    if n < 3:
        return None, "few_replicates"
    weights = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=RESAMPLES).astype(np.float64)
    before, after = (_votes_needed(each, moments, weights, accuracy) for each in (reference, other))
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = 1 - after / before
    shares = shares[np.isfinite(shares)]
    if len(shares) < RESAMPLES / 2:
        return None, "mostly_not_reached"
    low, high = np.quantile(shares, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return (float(low), float(high)), None
