"""Quantiles of Student's t distribution."""

from __future__ import annotations

import math
from statistics import NormalDist

# The finite series is summed up to here; beyond it four terms of the expansion in 1/df are exact to 1e-14.
_SERIES_DF = 2000


def t_quantile(probability: float, *, df: int) -> float:
    """The t with P(T <= t) = probability for `df` degrees of freedom (Abramowitz & Stegun 1964, 26.7)."""
    if not 0 < probability < 1 or df < 1:
        raise ValueError(
            f"Needs a probability between 0 and 1 and a degree of freedom or more; got {probability}, {df}."
        )
    if probability < 0.5:
        return -t_quantile(1 - probability, df=df)
    normal = NormalDist().inv_cdf(probability)
    return _expanded(normal, df) if df > _SERIES_DF else _solved(2 * probability - 1, df, start=normal)


def _solved(central: float, df: int, *, start: float) -> float:
    """Newton's method for P(|T| < t) = central in the angle atan(t / sqrt(df)).

    The probability is concave in the angle and the normal quantile lies below the answer, so the steps only
    go up.
    """
    peak = 2 / math.sqrt(math.pi) * math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2))
    angle = math.atan(start / math.sqrt(df))
    for _ in range(100):
        step = (central - _central_probability(angle, df)) / (peak * math.cos(angle) ** (df - 1))
        angle += step
        if abs(step) <= 1e-15 * angle:
            break
    return math.sqrt(df) * math.tan(angle)


def _central_probability(angle: float, df: int) -> float:
    """P(|T| < t) at t = sqrt(df) tan(angle): the finite series 26.7.3 for odd and 26.7.4 for even df."""
    cosine, odd = math.cos(angle), df % 2
    term = cosine if odd else 1.0
    total = term if df > 1 else 0.0
    for k in range(2 + odd, df, 2):
        term *= cosine**2 * (k - 1) / k
        total += term
    total *= math.sin(angle)
    return 2 / math.pi * (angle + total) if odd else total


def _expanded(x: float, df: int) -> float:
    """26.7.5: the normal quantile x plus corrections in powers of 1/df."""
    terms = (
        (x**3 + x) / 4,
        (5 * x**5 + 16 * x**3 + 3 * x) / 96,
        (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
        (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92160,
    )
    return x + sum(term / float(df) ** power for power, term in enumerate(terms, start=1))
