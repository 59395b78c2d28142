"""Krippendorff's alpha with its jackknife interval.

Krippendorff, "Content Analysis", 4th ed. 2018, chapter 12; the interval follows Hughes, arXiv:2210.13265.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from analytics.statistics.disagreement import interval, nominal, ratio, two_arbitrary_labels
from analytics.statistics.jackknife import Measure, alpha_of, standard_error
from analytics.statistics.ordinal import ordinal
from analytics.statistics.patterns import Patterns
from analytics.statistics.student import t_quantile

Level = Literal["nominal", "ordinal", "interval", "ratio"]
LEVELS: tuple[Level, ...] = get_args(Level)

_MEASURES: dict[str, Measure] = {"nominal": nominal, "ordinal": ordinal, "interval": interval, "ratio": ratio}


@dataclass(frozen=True)
class Agreement:
    """Alpha of one question, and what it rests on.

    alpha: None where it is not defined; 1 is perfect agreement, 0 what chance would give.
    ci: interval at `confidence_level`, cut at 1; None where the data cannot give one.
    units, ratings: all units with a rating, and all ratings; the pairable ones are in units with two or more.
    reason: code in `reasons.SENTENCES` when alpha or ci is None.
    """

    level: str
    alpha: float | None
    ci: tuple[float, float] | None
    ci_method: str
    confidence_level: float
    units: int
    pairable_units: int
    ratings: int
    pairable_ratings: int
    reason: str | None


def krippendorff_alpha(patterns: Patterns, *, level: Level, confidence_level: float = 0.95) -> Agreement:
    """Alpha of independent ratings at a level of measurement.

    Ratings by the same person of the same unit are not independent: pass one of them. Raises ValueError for
    an unknown level, a confidence level outside (0, 1), and negative values at the ratio level.
    """
    if level not in _MEASURES:
        raise ValueError(f"Unknown level of measurement {level!r}; known are {', '.join(LEVELS)}.")
    pairable = patterns.pairable()
    if level == "ratio" and (pairable.values < 0).any():
        raise ValueError(f"The ratio level needs values of zero or more; found {pairable.values.min():g}.")
    varies = len(pairable.values) >= 2
    return _assess(
        patterns, pairable, level, _MEASURES[level], varies=varies, confidence_level=confidence_level
    )


def symmetric_alpha(patterns: Patterns, *, confidence_level: float = 0.95) -> Agreement:
    """Nominal alpha for two labels that mean nothing in themselves, such as the sides of a comparison.

    Which candidate was called A is arbitrary, but nominal alpha on the stored labels depends on it. Here De
    is 0.5 n / (n - 1), whichever way the labels fell, so swapping them in any unit changes nothing, and
    unanimous ratings give 1 even if they all name the same side. Ties and abstentions have to be left out
    first: a third value raises ValueError.
    """
    pairable = patterns.pairable()
    if len(pairable.values) > 2:
        raise ValueError(f"Label-symmetric alpha is for two labels; found {pairable.values.tolist()}.")
    level, measure = "nominal-symmetric", two_arbitrary_labels
    return _assess(patterns, pairable, level, measure, varies=True, confidence_level=confidence_level)


def _assess(
    patterns: Patterns,
    pairable: Patterns,
    level: str,
    measure: Measure,
    *,
    varies: bool,
    confidence_level: float,
) -> Agreement:
    alpha, ci, reason = _estimate(pairable, measure, varies=varies, confidence_level=confidence_level)
    return Agreement(
        level=level,
        alpha=alpha,
        ci=ci,
        ci_method="jackknife-t",
        confidence_level=confidence_level,
        units=patterns.units,
        pairable_units=pairable.units,
        ratings=patterns.ratings,
        pairable_ratings=pairable.ratings,
        reason=reason if patterns.units else "no_ratings",
    )


def _estimate(
    pairable: Patterns, measure: Measure, *, varies: bool, confidence_level: float
) -> tuple[float | None, tuple[float, float] | None, str | None]:
    if not 0 < confidence_level < 1:
        raise ValueError(f"The confidence level lies between 0 and 1; got {confidence_level}.")
    if not pairable.units:
        return None, None, "no_pairable_units"
    if not varies:
        return None, None, "no_variation"
    sums = measure(pairable)
    alpha = alpha_of(sums.observed, sums.expected, ratings=pairable.ratings)
    error, reason = standard_error(pairable, measure=measure, sums=sums)
    if error is None:
        return alpha, None, reason
    half = error * t_quantile((1 + confidence_level) / 2, df=pairable.units - 1)
    return alpha, (alpha - half, min(alpha + half, 1.0)), None
