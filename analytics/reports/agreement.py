"""Agreement of a study, question by question, as pages, the API and `manage.py agreement` give it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from analytics import frames
from analytics.cluster_frames import count_rows_by_prompt
from analytics.frames import Counted, CountRow
from analytics.questions import MeasuredQuestion, measured_questions
from analytics.statistics import reasons
from analytics.statistics.agreement import (
    LEVELS,
    Agreement,
    IntervalSettings,
    Level,
    krippendorff_alpha,
    symmetric_alpha,
)
from analytics.statistics.patterns import Patterns, patterns_from_rows
from analytics.statistics.percent_agreement import PercentAgreement, percent_agreement
from annotation.errors import InvalidInput
from annotation.models import Answer, Study

# A tie lies between the sides; "both bad" is nowhere on that line. Where only the side counts, both are left out.
ORDERED = {float(Answer.Choice.FIRST): -1.0, float(Answer.Choice.TIE): 0.0, float(Answer.Choice.SECOND): 1.0}
SIDES = {float(Answer.Choice.FIRST): 1.0, float(Answer.Choice.SECOND): 2.0}

NEGATIVE_VALUES = "negative_values"
SENTENCES = {
    **reasons.SENTENCES,
    NEGATIVE_VALUES: "The ratio level needs a scale that starts at zero; this one goes below.",
}


@dataclass(frozen=True)
class QuestionAgreement:
    """Agreement on one question. `patterns` are the ratings that `alpha` and `percent` rest on.

    symmetric: for preferences, whose stored labels name slots and are arbitrary; without ties.
    raters: how many named people answered; None where the import named nobody.
    off_scale: how many ratings are none of the scale's points, and left out.
    """

    question: MeasuredQuestion
    patterns: Patterns
    alpha: Agreement
    percent: PercentAgreement
    symmetric: Agreement | None
    raters: int | None
    unnamed_raters: bool
    off_scale: int

    def as_json(self) -> dict[str, Any]:
        symmetric = {} if self.symmetric is None else {"symmetric": alpha_json(self.symmetric)}
        first = {} if self.question.first_votes is None else {"first_votes": self.question.first_votes}
        return {
            "title": self.question.title,
            "kind": self.question.kind,
            **alpha_json(self.alpha),
            "raters": self.raters,
            "unnamed_raters": self.unnamed_raters,
            "off_scale": self.off_scale,
            "percent_agreement": self.percent.pooled_pairs,
            "percent_agreement_kind": "pooled_pairs",
            "percent_agreement_per_unit": self.percent.per_unit_mean,
            "percent_agreement_observed": self.percent.observed,
            **symmetric,
            **first,
            "protocol_versions": list(self.question.versions),
            "protocol_versions_left_out": list(self.question.other_versions),
        }


_JACKKNIFE = IntervalSettings()


def study_agreement(
    study: Study, *, level: str | None = None, interval: IntervalSettings = _JACKKNIFE
) -> list[QuestionAgreement]:
    """Every measured question at its own level, or all at `level`. Raises InvalidInput for an unknown one.

    An interval by clusters draws the prompts, or else the items, with all their units.
    """
    if level is not None and level not in LEVELS:
        raise InvalidInput(
            f"{level!r} is not a level of measurement; use {', '.join(LEVELS)}.", code="bad_level"
        )
    found = []
    for question in measured_questions(study):
        clusters = None
        if interval.method == "clusters":
            by_prompt = count_rows_by_prompt(question)
            counted, clusters = by_prompt.counted, by_prompt.clusters
        else:
            counted = frames.count_rows(question)
        found.append(
            question_agreement(
                question, counted, level=level or question.level, clusters=clusters, interval=interval
            )
        )
    return found


def question_agreement(
    question: MeasuredQuestion,
    counted: Counted,
    *,
    level: str,
    clusters: Sequence[int] | None = None,
    interval: IntervalSettings = _JACKKNIFE,
) -> QuestionAgreement:
    patterns, alpha, symmetric = alphas(
        question, counted.rows, level=level, clusters=clusters, interval=interval
    )
    named, unnamed = frames.n_named_raters(question), frames.has_unnamed_raters(question)
    return QuestionAgreement(
        question=question,
        patterns=patterns,
        alpha=alpha,
        percent=percent_agreement(patterns),
        symmetric=symmetric,
        raters=None if unnamed and not named else named,
        unnamed_raters=unnamed,
        off_scale=counted.off_scale,
    )


def alphas(
    question: MeasuredQuestion,
    rows: Sequence[CountRow],
    *,
    level: str,
    clusters: Sequence[int] | None = None,
    interval: IntervalSettings = _JACKKNIFE,
) -> tuple[Patterns, Agreement, Agreement | None]:
    """The ratings of `rows`, their alpha, and, for preferences, the one symmetric in the sides."""
    ordered = question.is_preference and level != "nominal"
    patterns = patterns_from_rows(recoded(rows, ORDERED) if ordered else rows, clusters=clusters)
    symmetric = None
    if question.is_preference:
        symmetric = symmetric_alpha(
            patterns_from_rows(recoded(rows, SIDES), clusters=clusters), interval=interval
        )
    return patterns, _alpha(patterns, level=cast(Level, level), interval=interval), symmetric


def recoded(rows: Iterable[CountRow], codes: Mapping[float, float]) -> list[CountRow]:
    """The rows with other values; a value without a code is left out."""
    return [
        ({codes[value]: count for value, count in row.items() if value in codes}, units)
        for row, units in rows
    ]


def _alpha(patterns: Patterns, *, level: Level, interval: IntervalSettings) -> Agreement:
    if level == "ratio" and (patterns.values < 0).any():
        undefined = krippendorff_alpha(patterns, level="nominal", interval=interval)
        return replace(undefined, level=level, alpha=None, ci=None, reason=NEGATIVE_VALUES)
    return krippendorff_alpha(patterns, level=level, interval=interval)


def alpha_json(agreement: Agreement) -> dict[str, Any]:
    return {
        "level": agreement.level,
        "alpha": agreement.alpha,
        "ci95": None if agreement.ci is None else list(agreement.ci),
        "ci_method": agreement.ci_method,
        "units": agreement.units,
        "pairable_units": agreement.pairable_units,
        "ratings": agreement.ratings,
        "pairable_ratings": agreement.pairable_ratings,
        "reason": agreement.reason,
    }
