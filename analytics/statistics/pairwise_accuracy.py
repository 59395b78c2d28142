"""How often a metric prefers what people prefer."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from analytics.statistics.bootstrap import (
    Estimate,
    Resampling,
    estimate,
    numbered,
    undefined,
    weighted_mean,
)
from analytics.statistics.distinct_rows import FloatArray


@dataclass(frozen=True)
class PairwiseAccuracy:
    """`accuracy` over the pairs that people decided. `human_ties` of the pairs were left out for it; `metric_ties` of
    those that count got the same score on both sides."""

    accuracy: Estimate
    human_ties: int
    metric_ties: int


def pairwise_accuracy(
    leads: Sequence[float] | FloatArray,
    humans: Sequence[float] | FloatArray,
    *,
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling | None = None,
) -> PairwiseAccuracy:
    """leads: the first side's score less the second's, NaN where one is missing. humans: above 0 where people prefer
    the first, below 0 the second, 0 where they do not decide.

    The proportion of pairs in which the metric gives the side that people prefer the higher score (AQAScore, section
    4.4). A metric that cannot tell the two apart is right half the time: ties count 1/2, so that over all pairs of
    rated items this is (1 + D) / 2 for Somers' D of the scores given the ratings (Somers, American Sociological Review
    27, 1962). Pairs that people left undecided do not count.
    """
    resampling = resampling or Resampling()
    lead, human = np.asarray(leads, dtype=np.float64), np.sign(np.asarray(humans, dtype=np.float64))
    if lead.shape != human.shape or lead.ndim != 1:
        raise ValueError("Needs one lead and one human preference per pair.")
    counted = np.isfinite(lead) & (human != 0)
    right = (1 + np.sign(lead[counted]) * human[counted]) / 2
    groups = np.unique(numbered(clusters, n=len(lead))[counted], return_inverse=True)[1]
    if len(right):
        accuracy = estimate(weighted_mean(right), groups, resampling=resampling)
    else:
        accuracy = undefined("no_decided_pairs", n=0, resampling=resampling)
    return PairwiseAccuracy(accuracy, int((human == 0).sum()), int((lead[counted] == 0).sum()))
