"""A share of votes with its interval, where votes by one person or about one prompt are not independent.

With clusters, these are drawn with replacement, each with all its votes (see `bootstrap`), and the interval is widened
as `few_clusters` says; without, votes count as independent and the interval is Wilson's. A share whose resamples are
all alike has no interval: that everybody says the same does not mean that the next one will.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analytics.statistics.bootstrap import Resampling, resamples
from analytics.statistics.distinct_rows import FloatArray, IntArray
from analytics.statistics.few_clusters import FEWEST, tails
from analytics.statistics.sequential import wilson_interval

SENTENCES = {
    "no_votes": "There is no such vote.",
    "one_cluster": "All votes belong together, so they cannot say how uncertain this is.",
    "few_clusters": "Fewer than five raters or prompts cannot say how uncertain this is.",
    "all_alike": "Everybody's votes have the same share, so drawing them anew cannot say how uncertain it is.",
}

# Shares that differ by less are equal.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Share:
    """`hits` of `n`. clusters: what was drawn for the interval; None for Wilson's.

    reason: a code of SENTENCES where the value, or else the interval, is None.
    """

    hits: int
    n: int
    value: float | None
    interval: tuple[float, float] | None
    clusters: int | None
    reason: str | None


def clustered_share(
    hits: ArrayLike, n: ArrayLike, *, clusters: ArrayLike | None, resampling: Resampling
) -> Share:
    """The pooled share of rows that hold hits[k] of n[k] votes, or pairs of votes.

    `clusters` numbers the rows' clusters in any way. Neither the order of rows nor how they are grouped within a
    cluster changes the result.
    """
    hit, of = (np.asarray(column, dtype=np.int64) for column in (hits, n))
    total, correct = int(of.sum()), int(hit.sum())
    if not total:
        return Share(0, 0, None, None, None, "no_votes")
    value = correct / total
    if clusters is None:
        return Share(
            correct, total, value, wilson_interval(correct, total, level=resampling.level), None, None
        )
    per_hit, per_n = _summed(np.asarray(clusters)[of > 0], hit[of > 0], of[of > 0])
    interval, reason = _resampled(per_hit, per_n, resampling)
    return Share(correct, total, value, interval, len(per_n), reason)


def _summed(cluster: IntArray, hit: IntArray, of: IntArray) -> tuple[FloatArray, FloatArray]:
    _, number = np.unique(cluster, return_inverse=True)
    per_hit, per_n = (np.bincount(number, weights=column).astype(np.float64) for column in (hit, of))
    return per_hit, per_n


def _resampled(
    hit: FloatArray, of: FloatArray, resampling: Resampling
) -> tuple[tuple[float, float] | None, str | None]:
    if len(of) < 2:
        return None, "one_cluster"
    shares = hit / of
    if np.ptp(shares) < _ROUNDING:
        return None, "all_alike"
    if len(of) < FEWEST:
        return None, "few_clusters"
    drawn = np.concatenate(
        [(weights @ hit) / (weights @ of) for weights in resamples(np.arange(len(of)), len(of), resampling)]
    )
    low, high = np.quantile(drawn, tails(resampling.level, len(of)))
    return (float(low), float(high)), None
