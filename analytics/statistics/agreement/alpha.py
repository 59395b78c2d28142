"""Krippendorff's alpha with a confidence interval: the jackknife's by default.

Krippendorff, "Content Analysis", 4th ed. 2018, chapter 12; which interval to trust, Hughes, arXiv:2210.13265.
"""

from __future__ import annotations

from dataclasses import dataclass

from analytics.statistics.agreement.alpha_intervals import (
    INTERVAL_NAMES,
    AlphaInterval,
    DisagreementMeasure,
    IntervalSettings,
    alpha_from_sums,
    alpha_interval,
)
from analytics.statistics.agreement.disagreement import (
    LEVELS,
    AnyLevel,
    Level,
    interval_disagreement,
    nominal_disagreement,
    ordinal_disagreement,
    ratio_disagreement,
    symmetric_disagreement,
)
from analytics.statistics.agreement.patterns import Patterns

__all__ = [
    "LEVELS",
    "Agreement",
    "IntervalSettings",
    "Level",
    "alpha_at",
    "krippendorff_alpha",
    "symmetric_alpha",
]

_MEASURES: dict[AnyLevel, DisagreementMeasure] = {
    "nominal": nominal_disagreement,
    "ordinal": ordinal_disagreement,
    "interval": interval_disagreement,
    "ratio": ratio_disagreement,
    "symmetric": symmetric_disagreement,
}
_JACKKNIFE = IntervalSettings()


@dataclass(frozen=True)
class Agreement:
    """Alpha of one question, and what it rests on.

    alpha: None where it is not defined; 1 is perfect agreement, 0 what chance would give.
    ci: interval at `confidence_level` that reaches no further than 1; None where the data cannot give one.
    ci_method: one of `alpha_intervals.INTERVAL_NAMES`; those in `INTERVAL_CAVEATS` come with a warning.
    units, ratings: all units with a rating, and all ratings; the pairable ones are in units with two or more.
    reason: code of SENTENCES when alpha or ci is None.
    clusters: how many independent groups of pairable units were drawn from, where they were clusters.
    degenerate: of the `replicates`, how many left alpha undefined; the interval rests on the others.
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
    clusters: int | None = None
    replicates: int = 0
    degenerate: int = 0


def alpha_at(patterns: Patterns, level: AnyLevel, *, interval: IntervalSettings = _JACKKNIFE) -> Agreement:
    """Krippendorff's alpha at a level of measurement, or label-symmetric alpha."""
    if level == "symmetric":
        return symmetric_alpha(patterns, interval=interval)
    return krippendorff_alpha(patterns, level=level, interval=interval)


def krippendorff_alpha(
    patterns: Patterns, *, level: Level, interval: IntervalSettings = _JACKKNIFE
) -> Agreement:
    """Alpha of independent ratings at a level of measurement.

    Ratings by the same person of the same unit are not independent: pass one of them. Raises ValueError for
    an unknown level, negative values at the ratio level, and an interval by clusters that the patterns do not know.
    """
    if level not in LEVELS:
        raise ValueError(f"Unknown level of measurement {level!r}; known are {', '.join(LEVELS)}.")
    pairable = patterns.pairable()
    if level == "ratio" and (pairable.values < 0).any():
        raise ValueError(f"The ratio level needs values of zero or more; found {pairable.values.min():g}.")
    return _assess(patterns, pairable, level, interval)


def symmetric_alpha(patterns: Patterns, *, interval: IntervalSettings = _JACKKNIFE) -> Agreement:
    """Nominal alpha for two labels that mean nothing in themselves, such as the sides of a comparison.

    Which candidate was called A is arbitrary, but nominal alpha on the stored labels depends on it. Here De
    is 0.5 n / (n - 1), whichever way the labels fell, so swapping them in any unit changes nothing, and
    unanimous ratings give 1 even if they all name the same side. Ties and abstentions have to be left out
    first: a third value raises ValueError.
    """
    pairable = patterns.pairable()
    if len(pairable.values) > 2:
        raise ValueError(f"Label-symmetric alpha is for two labels; found {pairable.values.tolist()}.")
    return _assess(patterns, pairable, "symmetric", interval)


def _assess(patterns: Patterns, pairable: Patterns, level: AnyLevel, settings: IntervalSettings) -> Agreement:
    alpha, found = _estimate(pairable, level, settings)
    return Agreement(
        level="nominal-symmetric" if level == "symmetric" else level,
        alpha=alpha,
        ci=found.ci,
        ci_method=INTERVAL_NAMES[settings.method],
        confidence_level=settings.resampling.level,
        units=patterns.units,
        pairable_units=pairable.units,
        ratings=patterns.ratings,
        pairable_ratings=pairable.ratings,
        reason=found.reason if patterns.units else "no_ratings",
        clusters=found.clusters,
        replicates=found.replicates,
        degenerate=found.degenerate,
    )


def _estimate(
    pairable: Patterns, level: AnyLevel, settings: IntervalSettings
) -> tuple[float | None, AlphaInterval]:
    if not pairable.units:
        return None, AlphaInterval(None, "no_pairable_units")
    if level != "symmetric" and len(pairable.values) < 2:
        return None, AlphaInterval(None, "no_variation")
    measure = _MEASURES[level]
    sums = measure(pairable)
    alpha = alpha_from_sums(sums.observed, sums.expected, ratings=pairable.ratings)
    return alpha, alpha_interval(pairable, level=level, measure=measure, sums=sums, settings=settings)


# Why a statistic or its interval is missing: codes for machines, sentences for people.


SENTENCES = {
    "no_ratings": "There are no ratings yet.",
    "no_pairable_units": "No unit has two or more ratings, so there is nothing to compare.",
    "no_variation": "All ratings that can be compared are equal, so agreement cannot be told from chance.",
    "one_pairable_unit": "Only one unit has two or more ratings; an interval needs at least two.",
    "variation_in_one_unit": "Without one of the units all ratings would be equal; there is no interval yet.",
    "no_spread": "Leaving any unit out gives the same figure, so the data cannot say how uncertain it is.",
    "one_cluster": "All units belong together (one prompt or one sound), so nothing says how uncertain this is.",
    "mostly_undefined": "In most resamples of the units all ratings are equal, so there is no interval.",
    "no_repeats": "Nobody answered twice about the same unit.",
}


def explain_reason(reason: str) -> str:
    """The English sentence for a reason code."""
    return SENTENCES[reason]
