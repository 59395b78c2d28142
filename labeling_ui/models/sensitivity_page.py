"""A comparison of templates as its page draws it: a line per statistic, a dot per template, their mean and spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from analytics.evaluation.results import Spread
from analytics.reports.sensitivity import HumanFigure, Sensitivity, TemplateScores
from analytics.statistics.bootstrap import Estimate
from annotation.protocols import Protocol, QuestionSpec

STATISTIC_LABELS: dict[str, Promise] = {
    "lcc": _("Linear correlation (LCC)"),
    "srcc": _("Rank correlation (SRCC)"),
    "ktau": _("Kendall’s tau (KTAU)"),
    "accuracy": _("Pairwise accuracy"),
}
# Why a figure or its interval is missing: the codes of analytics.statistics.bootstrap.SENTENCES.
UNDEFINED_REASON_LABELS: dict[str, Promise] = {
    "too_few": _("Fewer than three items have both a score and a human answer."),
    "constant_scores": _("The scorer gave every item the same value, so nothing can be correlated with it."),
    "constant_humans": _("All items have the same human value, so nothing can be correlated with it."),
    "one_class": _("All items are of one class, so there is nothing to tell apart."),
    "no_decided_pairs": _("No pair has both a human preference and a score for either side."),
    "no_items": _("No item has all the scores it needs."),
    "one_cluster": _(
        "All items belong together (one prompt or one sound), so the data cannot say how uncertain this is."
    ),
    "mostly_undefined": _(
        "In most resamples of the data the figure is not defined, so there is no interval."
    ),
}


@dataclass(frozen=True)
class Dot:
    at: float
    template: str
    value: float


@dataclass(frozen=True)
class Line:
    """One statistic. Places are in per cent of the line; `low` and `high` are the mean less and plus the spread."""

    label: Promise | str
    spread: Spread | None
    dots: tuple[Dot, ...]
    mean: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Row:
    template: str
    estimates: tuple[Estimate, ...]


@dataclass(frozen=True)
class Chart:
    """One question: its lines over one axis from `start` to 1, and the same as a table, a row per template.

    ticks: place, label, and the side to which the label leans.
    """

    key: str
    title: str
    n: int
    lines: tuple[Line, ...]
    ticks: tuple[tuple[float, str, str], ...]
    columns: tuple[Promise | str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class TemplateRow:
    scores: TemplateScores
    question: str


def question_charts(found: Sensitivity, protocol: Protocol) -> list[Chart]:
    names = [one.template for one in found.templates]
    grouped = groupby(found.humans, key=lambda figure: figure.question)
    return [_chart(list(figures), names, spec=protocol.question(question)) for question, figures in grouped]


def template_rows(found: Sensitivity, config: Mapping[str, Any]) -> list[TemplateRow]:
    """What each template asks and how its scores lie."""
    asked = config.get("templates") or {}
    return [TemplateRow(one, str(asked.get(one.template, ""))) for one in found.templates]


def undefined_reasons(found: Sensitivity) -> list[Promise | str]:
    """Why figures or intervals are missing somewhere, each sentence once."""
    codes = (one.reason for figure in found.humans for one in figure.by_template if one.reason)
    return [UNDEFINED_REASON_LABELS.get(code, code) for code in dict.fromkeys(codes)]


def _chart(figures: Sequence[HumanFigure], names: Sequence[str], *, spec: QuestionSpec | None) -> Chart:
    start = _start(figures)
    per_template = zip(*(figure.by_template for figure in figures), strict=True)
    return Chart(
        key=figures[0].question,
        title=figures[0].title if spec is None else spec.title.in_language(get_language() or "en"),
        n=max(one.n for figure in figures for one in figure.by_template),
        lines=tuple(_line(figure, names, start) for figure in figures),
        ticks=_ticks(start),
        columns=tuple(STATISTIC_LABELS.get(figure.statistic, figure.statistic) for figure in figures),
        rows=tuple(
            Row(name, estimates) for name, estimates in zip(names, map(tuple, per_template), strict=True)
        ),
    )


def _start(figures: Sequence[HumanFigure]) -> float:
    """Where the axis begins: at 0, or at -1 where anything drawn lies below."""
    drawn = [one.value for figure in figures for one in figure.by_template if one.value is not None]
    drawn += [figure.spread.mean - figure.spread.sd for figure in figures if figure.spread]
    return -1.0 if min(drawn, default=0.0) < 0 else 0.0


def _ticks(start: float) -> tuple[tuple[float, str, str], ...]:
    middle = "0" if start < 0 else "0.5"
    return ((0.0, f"{start:g}".replace("-", "−"), "start"), (50.0, middle, "middle"), (100.0, "1", "end"))


def _line(figure: HumanFigure, names: Sequence[str], start: float) -> Line:
    def place(value: float) -> float:
        return round(100 * (min(1.0, max(start, value)) - start) / (1.0 - start), 2)

    spread = figure.spread
    return Line(
        label=STATISTIC_LABELS.get(figure.statistic, figure.statistic),
        spread=spread,
        dots=tuple(
            Dot(place(one.value), name, one.value)
            for name, one in zip(names, figure.by_template, strict=True)
            if one.value is not None
        ),
        mean=place(spread.mean) if spread else None,
        low=place(spread.mean - spread.sd) if spread else None,
        high=place(spread.mean + spread.sd) if spread else None,
    )
