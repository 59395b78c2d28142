"""Sittings: runs of one rater's ratings without a long break."""

from __future__ import annotations

import numpy as np

from analytics.statistics.distinct_rows import FloatArray, IntArray

# After so many seconds a rater has sat down anew.
BREAK_S = 1800.0


def sittings(rater: IntArray, at: FloatArray) -> IntArray:
    """(n,) the number of each rating's sitting, of ratings with a known rater at some second; in any order."""
    order = np.lexsort((at, rater))
    anew = np.ones(len(rater), dtype=np.bool_)
    anew[1:] = (np.diff(rater[order]) != 0) | (np.diff(at[order]) > BREAK_S)
    found = np.empty(len(rater), dtype=np.int64)
    found[order] = np.cumsum(anew) - 1
    return found
