"""Kendall's coefficient of concordance W: how far several raters rank the same items alike.

Kendall & Babington Smith (1939), "The problem of m rankings", Annals of Mathematical Statistics 10(3), 275–287:
W = 12 S / (m² (n³ − n)), S the sum of squared deviations of the n rank sums of m rankings; 0 where the rank sums are
all equal, 1 where all rankings are.
"""

from __future__ import annotations

import numpy as np

from analytics.statistics.arrays import FloatArray, IntArray


def kendall_w(ranks: FloatArray) -> float | None:
    """Of (m, n) rankings, each row the places 1 to n of the same n items; None below two of either."""
    m, n = ranks.shape
    if m < 2 or n < 2:
        return None
    sums = ranks.sum(axis=0)
    return float(12 * ((sums - sums.mean()) ** 2).sum() / (m**2 * (n**3 - n)))


def concordances(
    group: IntArray, ranking: IntArray, item: IntArray, place: FloatArray
) -> list[tuple[int, float]]:
    """W of each group (a task) that two rankings or more place the same items of. Rows: an item's place in one
    ranking. Rankings that leave out an item that others place are left out."""
    results = []
    for one in np.unique(group):
        rows = group == one
        items, column = np.unique(item[rows], return_inverse=True)
        rankings, line = np.unique(ranking[rows], return_inverse=True)
        table = np.full((len(rankings), len(items)), np.nan)
        table[line, column] = place[rows]
        w = kendall_w(table[~np.isnan(table).any(axis=1)])
        if w is not None:
            results.append((int(one), w))
    return results


def mean_rank_distance(ranks: FloatArray) -> float | None:
    """(1 - Spearman's rho) / 2, averaged over the pairs of the m rankings: 0 where all are alike, 1 where two are each
    other's reverse. It follows from W, since the mean rho of all pairs is (m W - 1) / (m - 1) (Kendall & Babington
    Smith 1939)."""
    w, m = kendall_w(ranks), len(ranks)
    return None if w is None else m * (1 - w) / (2 * (m - 1))
