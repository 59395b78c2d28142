"""Calibration: whether a scorer's probabilities are those with which people vote.

A pair has no natural order, so all is reckoned for the side that the scorer prefers: its probability, from 1/2 to 1,
beside the share of votes for that side. No figure changes when sides are exchanged.

Expected calibration error: sum over bins of n_b / n times |mean probability - mean share| (Naeini, Cooper &
Hauskrecht, AAAI 2015; Guo et al., ICML 2017), here over bins of about equal counts, which leave none nearly empty.
Cross-entropy and the Brier score are against the shares themselves (Brier, Monthly Weather Review 78, 1950).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from analytics.statistics.arrays import BoolArray, FloatArray, IntArray
from analytics.statistics.bins import bin_count, equal_count_bins
from analytics.statistics.bootstrap import (
    DEFAULT_RESAMPLING,
    Estimate,
    Resampling,
    cluster_numbers,
    mean_estimate,
    undefined_estimate,
)
from analytics.statistics.intervals import wilson_interval
from analytics.statistics.judges.logistic_regression import cross_validated_logits, probability

BINS = 10
_CHANCE_DRAWS = 200


@dataclass(frozen=True)
class ReliabilityBin:
    """predicted, observed: means over the `n` pairs of the bin. low, high: Wilson's interval for a share of n pairs; a
    pair with several votes varies less than one vote does, so it is rather too wide than too narrow."""

    n: int
    predicted: float
    observed: float
    low: float
    high: float


@dataclass(frozen=True)
class Calibration:
    """ece has no interval: resampled data are always less well calibrated than the data. ece_by_chance: what a
    perfectly calibrated scorer with these probabilities would show on as many votes, on average over seeded draws."""

    n: int
    bins: tuple[ReliabilityBin, ...]
    ece: float | None
    ece_by_chance: float | None
    cross_entropy: Estimate
    brier: Estimate


def calibration(
    logits: Sequence[float] | FloatArray,
    for_first: Sequence[float] | FloatArray,
    for_second: Sequence[float] | FloatArray,
    *,
    bins: int | None = None,
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling = DEFAULT_RESAMPLING,
) -> Calibration:
    """logits: log-odds of the first side by the scorer, NaN where there is no score. for_first, for_second: votes.

    Pairs without a score or without a vote for either side are left out; the others weigh the same. bins: by default
    10, or fewer where they would hold fewer than ten pairs.
    """
    logit, first, second = (np.asarray(one, dtype=np.float64) for one in (logits, for_first, for_second))
    if not logit.shape == first.shape == second.shape or logit.ndim != 1:
        raise ValueError("Needs a logit and the votes for either side per pair.")
    included, for_one = _shares(logit, first, second)
    if not included.any():
        nothing = undefined_estimate("no_decided_pairs", n=0, resampling=resampling)
        return Calibration(0, (), None, None, nothing, nothing)
    groups = cluster_numbers(clusters, included, n=len(logit))
    votes = (first + second)[included]
    size, toward = _folded(logit[included], for_one)
    predicted = probability(size)
    # Where it prefers neither, half of the votes are for the side that it prefers, whichever is stored first.
    share = np.where(size > 0, toward, 0.5)
    bin_of = equal_count_bins(predicted, bins=bins or bin_count(len(size), most=BINS))
    brier, entropy = (predicted - toward) ** 2, _cross_entropy(size, toward)
    return Calibration(
        n=int(included.sum()),
        bins=_reliability_bins(predicted, share, bin_of, level=resampling.level),
        ece=_ece(predicted, share, bin_of),
        ece_by_chance=_ece_by_chance(predicted, votes, bin_of, seed=resampling.seed),
        cross_entropy=mean_estimate(entropy, groups, resampling=resampling),
        brier=mean_estimate(brier, groups, resampling=resampling),
    )


def vote_entropy(for_first: FloatArray, for_second: FloatArray) -> float | None:
    """The cross-entropy of a scorer that gave every pair its own share of votes: none comes below it."""
    voted = for_first + for_second
    first, second = for_first[voted > 0], for_second[voted > 0]
    if not len(first):
        return None
    shares = np.stack([first, second]) / (first + second)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return float(-(shares * logs).sum(axis=0).mean())


def cross_entropies(logits: FloatArray, for_first: FloatArray, for_second: FloatArray) -> FloatArray:
    """(n,) what each pair adds to the mean that `Calibration.cross_entropy` is; NaN without a score or a vote."""
    included, share = _shares(logits, for_first, for_second)
    entropies = np.full(len(logits), np.nan)
    entropies[included] = _cross_entropy(*_folded(logits[included], share))
    return entropies


def recalibrated_logits(
    leads: FloatArray, for_first: FloatArray, for_second: FloatArray, *, clusters: IntArray, seed: int = 0
) -> FloatArray | None:
    """(n,) Platt's logit of each pair, b times its lead, with b from pairs of other clusters; NaN where a pair has no
    lead. There is no intercept: a lead of nothing is even odds. None where all that could be learnt from belongs
    together."""
    included, share = _shares(leads, for_first, for_second)
    predicted = cross_validated_logits(
        leads[included, None], share, clusters=clusters[included], intercept=False, seed=seed
    )
    if predicted is None:
        return None
    logits = np.full(len(leads), np.nan)
    logits[included] = predicted
    return logits


def _shares(
    logits: FloatArray, for_first: FloatArray, for_second: FloatArray
) -> tuple[BoolArray, FloatArray]:
    """Which pairs have a score and a vote for either side, and the share for the first of these."""
    included = np.isfinite(logits) & (for_first + for_second > 0)
    return included, for_first[included] / (for_first + for_second)[included]


def _folded(logit: FloatArray, share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The size of each logit, and the share of votes for the side that it is in favour of."""
    return np.abs(logit), np.where(logit < 0, 1 - share, share)


def _reliability_bins(
    predicted: FloatArray, share: FloatArray, bin_of: IntArray, *, level: float
) -> tuple[ReliabilityBin, ...]:
    bins = []
    for number in range(int(bin_of.max()) + 1):
        within = bin_of == number
        n, observed = int(within.sum()), float(share[within].mean())
        interval = wilson_interval(observed * n, n, level=level)
        bins.append(ReliabilityBin(n, float(predicted[within].mean()), observed, *interval))
    return tuple(bins)


def _ece(predicted: FloatArray, share: FloatArray, bin_of: IntArray) -> float:
    return float(np.abs(np.bincount(bin_of, weights=predicted - share)).sum() / len(share))


def _ece_by_chance(predicted: FloatArray, votes: FloatArray, bin_of: IntArray, *, seed: int) -> float:
    rng = np.random.default_rng(seed)
    n = votes.astype(np.int64)
    drawn = (_ece(predicted, rng.binomial(n, predicted) / n, bin_of) for _ in range(_CHANCE_DRAWS))
    return float(np.mean(list(drawn)))


def _cross_entropy(size: FloatArray, share: FloatArray) -> FloatArray:
    """-share log p - (1 - share) log(1 - p) in terms of the logit, so that no probability is rounded to 1."""
    return np.asarray(np.logaddexp(0.0, -size) + (1 - share) * size)
