"""What a vote on each pair would teach, as studies reckon it (`scoring.services.priority_queries`, in SQL there)."""

from __future__ import annotations

import numpy as np

from analytics.statistics.distinct_rows import FloatArray, IntArray
from annotation.rules.ordering import Ordering

# As if a model had so many votes of its own.
_MODEL_VOTES = 2
_DECIMALS = 2


def priorities(weights: Ordering, *, margins: FloatArray, first: IntArray, second: IntArray) -> FloatArray:
    """(n,) from 0 to 1, of each pair's margin in log-odds and its votes for either side."""
    n = first + second
    voted = n > 0
    share = first / np.maximum(n, 1)
    told = 1 / (1 + np.exp(-np.clip(margins, -30, 30)))
    apart = np.zeros(len(margins))
    apart[voted] = ranks((n / (n + _MODEL_VOTES) * np.abs(share - told))[voted])
    total = weights.uncertainty + weights.disagreement + weights.coverage
    weighed = (
        weights.uncertainty * ranks(-np.abs(margins))
        + weights.disagreement * apart
        + weights.coverage / (1.0 + n)
    )
    return np.asarray(np.round(weighed / total, _DECIMALS))


def ranks(values: FloatArray) -> FloatArray:
    """(n,) the share of the other values that are smaller."""
    if len(values) < 2:
        return np.zeros(len(values))
    return np.asarray(np.searchsorted(np.sort(values), values, side="left") / (len(values) - 1))
