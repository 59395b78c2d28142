"""The mean of one quantity over another: ratings by score, correctness by length, in bins of about equal counts.

The bins come from the data as they are; resamples keep them, so an interval is that of the mean within its bin.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from analytics.statistics.bootstrap import Estimate, Resampling, estimate, numbered, weighted_mean
from analytics.statistics.distinct_rows import FloatArray
from analytics.statistics.equal_count import equal_count_bins, sensible_bins


@dataclass(frozen=True)
class BinnedMean:
    """x: the mean of what the bins divide; lowest and highest: its ends. mean: of the other quantity, with interval."""

    x: float
    lowest: float
    highest: float
    mean: Estimate

    @property
    def n(self) -> int:
        return self.mean.n


def binned_means(
    x: Sequence[float] | FloatArray,
    y: Sequence[float] | FloatArray,
    *,
    most_bins: int,
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling | None = None,
) -> tuple[BinnedMean, ...]:
    """In ascending order of x. Items without a finite number in both are left out; there are fewer bins than
    `most_bins` where they would hold fewer than ten items each."""
    resampling = resampling or Resampling()
    xs, ys = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if xs.shape != ys.shape or xs.ndim != 1:
        raise ValueError("Needs one x and one y per item.")
    kept = np.isfinite(xs) & np.isfinite(ys)
    groups = numbered(clusters, n=len(xs))[kept]
    xs, ys = xs[kept], ys[kept]
    bin_of = equal_count_bins(xs, bins=sensible_bins(len(xs), most=most_bins))
    found = []
    for number in range(int(bin_of.max(initial=-1)) + 1):
        within = bin_of == number
        own = np.unique(groups[within], return_inverse=True)[1]
        mean = estimate(weighted_mean(ys[within]), own, resampling=resampling)
        found.append(
            BinnedMean(float(xs[within].mean()), float(xs[within].min()), float(xs[within].max()), mean)
        )
    return tuple(found)
