"""How a quantity falls off as texts grow longer (CAFE, figure 3), in bins of about equal counts and as one figure."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from analytics.statistics.binned_means import BinnedMean, binned_means
from analytics.statistics.bootstrap import Estimate, Resampling
from analytics.statistics.correlation import linear_and_rank
from analytics.statistics.distinct_rows import FloatArray

BINS = 6


@dataclass(frozen=True)
class Decay:
    """bins: by length; `x` is the mean length, as in the paper's figure. srcc: of length and the quantity, below 0
    where it decays."""

    bins: tuple[BinnedMean, ...]
    srcc: Estimate


def length_decay(
    lengths: Sequence[float] | FloatArray,
    values: Sequence[float] | FloatArray,
    *,
    most_bins: int = BINS,
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling | None = None,
) -> Decay:
    """Items without a finite number in both are left out."""
    x, y = np.asarray(lengths, dtype=np.float64), np.asarray(values, dtype=np.float64)
    return Decay(
        binned_means(x, y, most_bins=most_bins, clusters=clusters, resampling=resampling),
        linear_and_rank(x, y, clusters=clusters, resampling=resampling)[1],
    )
