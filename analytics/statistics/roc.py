"""The area under the receiver operating characteristic."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from analytics.statistics.bootstrap import (
    BoolArray,
    Estimate,
    Measure,
    Resampling,
    estimate,
    numbered,
    undefined,
)
from analytics.statistics.distinct_rows import FloatArray


def auc(
    scores: Sequence[float] | FloatArray,
    positive: Sequence[bool] | BoolArray,
    *,
    clusters: Sequence[Hashable] | None = None,
    resampling: Resampling | None = None,
) -> Estimate:
    """The chance that a positive scores higher than a negative, ties counting 1/2: U / (n+ n-), Mann & Whitney's U by
    ranks (Hanley & McNeil, Radiology 143, 1982). Items without a score are left out; None where one class is missing.
    """
    resampling = resampling or Resampling()
    values, classes = np.asarray(scores, dtype=np.float64), np.asarray(positive, dtype=bool)
    if values.shape != classes.shape or values.ndim != 1:
        raise ValueError("Needs one score and one class per item.")
    scored = np.isfinite(values)
    groups = np.unique(numbered(clusters, n=len(values))[scored], return_inverse=True)[1]
    values, classes = values[scored], classes[scored]
    if classes.all() or not classes.any():
        return undefined("one_class", n=len(values), resampling=resampling)
    return estimate(_area(values, classes), groups, resampling=resampling)


def _area(values: FloatArray, classes: BoolArray) -> Measure:
    distinct, which = np.unique(values, return_inverse=True)
    order = np.argsort(which, kind="stable")
    starts = np.searchsorted(which[order], np.arange(len(distinct)))

    def measure(weights: FloatArray) -> FloatArray:
        above, below = (
            np.add.reduceat((weights * side)[:, order], starts, axis=1) for side in (classes, ~classes)
        )
        # A positive beats all negatives with a lower score, and half of those with its own.
        wins = (above * (np.cumsum(below, axis=1) - below / 2)).sum(axis=1)
        pairs = above.sum(axis=1) * below.sum(axis=1)
        return np.asarray(np.divide(wins, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0))

    return measure
