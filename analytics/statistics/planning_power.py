"""The chance that a test finds what is there."""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist

import numpy as np

from analytics.statistics.distinct_rows import FloatArray
from analytics.statistics.student import t_quantile

_NORMAL = NormalDist()
# From here on a t distribution is the normal one to the four digits that a plan is good for.
_NORMAL_DF = 5000
_NODES = 400


def power_of_t(noncentrality: float, *, df: int, confidence: float = 0.95) -> float:
    """Of a two-sided t test whose statistic has this noncentrality and `df` degrees of freedom.

    A noncentral t is a normal over an independent chi / sqrt(df), so its tails are a normal's, averaged over that
    (Johnson, Kotz & Balakrishnan, "Continuous Univariate Distributions", vol. 2, chapter 31).
    """
    if df < 1:
        raise ValueError(f"A t test needs a degree of freedom; got {df}.")
    critical = t_quantile((1 + confidence) / 2, df=df)
    if df > _NORMAL_DF:
        return float(_NORMAL.cdf(noncentrality - critical) + _NORMAL.cdf(-noncentrality - critical))
    scale, weight = _chi_over_root(df)
    tails = [
        _NORMAL.cdf(noncentrality - critical * s) + _NORMAL.cdf(-noncentrality - critical * s)
        for s in scale.tolist()
    ]
    return float(np.clip(np.dot(tails, weight), 0.0, 1.0))


@cache
def _chi_over_root(df: int) -> tuple[FloatArray, FloatArray]:
    """Where chi / sqrt(df) lies and with what weight: density on an even grid over all but 1e-12 of it."""
    middle, reach = math.sqrt(max(df - 1, 0) / df), 8 / math.sqrt(2 * df)
    ends = np.linspace(max(0.0, middle - reach), middle + reach, _NODES + 1)
    scale = (ends[1:] + ends[:-1]) / 2
    log_density = (df - 1) * np.log(scale) - df * scale**2 / 2
    density = np.exp(log_density - log_density.max())
    return scale, density / density.sum()
