"""How uncertain a mean is when the same people rated many items and the same items were rated by many people.

The variance of a sum whose terms are alike within raters and within items (Cameron, Gelbach & Miller, "Robust
Inference With Multiway Clustering", JBES 2011, section 2.1): that between raters, plus that between items, less that
between the cells where they cross, which the other two both hold. It is never taken below that of either way alone,
where sampling error could put it. Student's t with one degree of freedom less than there are clusters of the rarer
kind (their section 2.4).

Tried on simulated ratings 1-5 of 6 to 37 raters, 30 to 200 items and 2 to 5 ratings per item, against the pigeonhole
bootstrap (Owen, Annals of Applied Statistics 2007: raters and items drawn with replacement, their weights multiplied):
intervals of nominal 95 % covered the truth in 95 to 98 % here and in 93 to 99 % there, at more width, since it counts
the ratings' own noise up to three times where few rate each item; clustered by item alone in 67 to 97 %, and in 56 to
87 % with ratings taken for independent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from analytics.statistics.distinct_rows import FloatArray, IntArray
from analytics.statistics.student import t_quantile

NO_RATINGS, ONE_CLUSTER, NO_SPREAD = "no_ratings", "one_cluster", "no_spread"


@dataclass(frozen=True)
class Uncertainty:
    """Standard error with its degrees of freedom; None with a reason code. 0 raters: they were not told apart.

    by_raters, by_items: whether that way of clustering is in it; one rater cannot tell of others, nor one item.
    """

    se: float | None
    df: int
    raters: int
    items: int
    by_raters: bool
    by_items: bool
    reason: str | None

    def half_width(self, level: float) -> float | None:
        return None if self.se is None else t_quantile((1 + level) / 2, df=self.df) * self.se


def uncertainty(scores: FloatArray, *, items: IntArray, raters: IntArray | None) -> Uncertainty:
    """Of a figure that is, up to a constant, the sum of `scores`, (n,), which add up to zero: of a mean, each rating's
    deviation divided by n. `items` and `raters` number the clusters; no raters where nobody is named."""
    if not len(scores):
        return Uncertainty(None, 0, 0, 0, False, False, NO_RATINGS)
    of_items, n_items = _between(scores, items)
    of_raters, n_raters = (0.0, 0) if raters is None else _between(scores, raters)
    by_raters, by_items = n_raters > 1, n_items > 1
    sizes = [n for n, used in ((n_raters, by_raters), (n_items, by_items)) if used]
    variance = max(of_items, of_raters)
    if raters is not None and by_raters and by_items:
        cells, _ = _between(scores, items * (int(raters.max()) + 1) + raters)
        variance = max(variance, of_items + of_raters - cells)
    reason = ONE_CLUSTER if not sizes else None if variance > 0 else NO_SPREAD
    return Uncertainty(
        se=None if reason else math.sqrt(variance),
        df=min(sizes, default=1) - 1,
        raters=n_raters,
        items=n_items,
        by_raters=by_raters,
        by_items=by_items,
        reason=reason,
    )


def two_sided(figure: float, found: Uncertainty) -> float | None:
    """The chance of a figure so far from zero if it were zero."""
    if found.se is None:
        return None
    from scipy import special  # takes a moment to load: only with a report

    return float(2 * special.stdtr(found.df, -abs(figure) / found.se))


def _between(scores: FloatArray, clusters: IntArray) -> tuple[float, int]:
    """The variance of the sum from what clusters add up to, and how many they are; 0 for one cluster."""
    number = np.unique(clusters, return_inverse=True)[1]
    sums = np.bincount(number, weights=scores)
    if len(sums) < 2:
        return 0.0, len(sums)
    # Clusters of equal sums may miss zero by a rounding error, which is no spread.
    if np.abs(sums).max() <= 1e-12 * np.abs(scores).max():
        return 0.0, len(sums)
    return float(len(sums) / (len(sums) - 1) * (sums**2).sum()), len(sums)
