"""Levels of measurement, and the squared distance of two values at each.

Krippendorff, "Content Analysis", 4th ed. 2018, chapter 12. `symmetric` is the nominal level for two labels that mean
nothing in themselves; its expected disagreement does not follow from distances.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from analytics.statistics.distinct_rows import FloatArray, IntArray

Level = Literal["nominal", "ordinal", "interval", "ratio"]
LEVELS: tuple[Level, ...] = get_args(Level)
AnyLevel = Level | Literal["symmetric"]


def distances(
    level: AnyLevel, values: FloatArray, totals: FloatArray, *, first: IntArray, second: IntArray
) -> FloatArray:
    """(B, Q) squared distances of the values with codes `first` and `second`, both (Q,).

    values: (V,) ascending. totals: (B, V) how often each value was given, on which ordinal distances depend; others
    do not, and come as (1, Q).
    """
    if level == "ordinal":
        rank = np.cumsum(totals, axis=1) - totals / 2
        return np.asarray((rank[:, first] - rank[:, second]) ** 2)
    if level in ("nominal", "symmetric"):
        return np.asarray((first != second).astype(np.float64))[None, :]
    # The square of a very large or small value would overflow or vanish, and alpha does not depend on the unit.
    scaled = values / max(float(np.abs(values).max(initial=0.0)), np.finfo(np.float64).tiny)
    apart = scaled[first] - scaled[second]
    if level == "ratio":
        total = scaled[first] + scaled[second]
        apart = np.divide(apart, total, out=np.zeros_like(apart), where=total != 0)
    return np.asarray(apart**2)[None, :]
