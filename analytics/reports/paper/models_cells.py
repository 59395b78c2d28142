"""What the sections on models say again and again: figures with their intervals, and why one is missing."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.translation import gettext, gettext_noop

from analytics.reports.document import Column, Measured
from analytics.reports.paper.sentences import because
from analytics.statistics import bootstrap, human_ceiling
from analytics.statistics.bootstrap import Estimate, Resampling

SENTENCES = {**bootstrap.SENTENCES, **human_ceiling.SENTENCES}
_MARKED = (
    gettext_noop(
        "No unit that has a score was answered twice, so there is nobody to compare one person with."
    ),
    gettext_noop("The persons who are compared with the rest all gave the same value."),
    gettext_noop(
        "People agree with each other no better than chance, so there is nothing to compare a scorer with."
    ),
    gettext_noop(
        "There are too many items to resample this figure in reasonable time, so it has no interval."
    ),
)


def measured(estimate: Estimate) -> Measured:
    return measured_with(estimate, SENTENCES)


def measured_with(estimate: Estimate, sentences: Mapping[str, str]) -> Measured:
    low, high = estimate.interval or (None, None)
    return Measured(estimate.value, low, high, because(estimate.reason, sentences))


def scorer_column() -> Column:
    return Column("scorer", gettext("Scorer"))


def count_column(key: str, label: str) -> Column:
    return Column(key, label, "count")


def number_column(key: str, label: str, *, digits: int = 3) -> Column:
    return Column(key, label, "number", digits)


def correlation_columns() -> list[Column]:
    return [
        number_column("pearson", gettext("Pearson (LCC)")),
        number_column("spearman", gettext("Spearman (SRCC)")),
    ]


def drawn_by_prompt(resampling: Resampling) -> str:
    text = gettext(
        "Intervals at %(level)s: prompts (or questions), each with all that was judged about it, drawn anew %(times)s "
        "times (percentiles)."
    )
    return text % {"level": f"{100 * resampling.level:g} %", "times": f"{resampling.replicates:,}"}
