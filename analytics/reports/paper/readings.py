"""The ways to read a question's answers as ratings that may agree: levels, and what they do to preferences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from django.utils.translation import gettext as _

from analytics.questions import MeasuredQuestion
from analytics.reports.agreement import ORDERED, SIDES
from analytics.reports.document import Measured
from analytics.reports.paper.material import ReportSettings
from analytics.reports.paper.sentences import because
from analytics.statistics.agreement import (
    Agreement,
    IntervalSettings,
    Level,
    krippendorff_alpha,
    symmetric_alpha,
)
from analytics.statistics.alpha_intervals import Method
from analytics.statistics.distinct_rows import FloatArray
from analytics.statistics.first_votes import first_votes
from analytics.statistics.patterns import Patterns, patterns_from_long
from analytics.vote_frames import Votes


@dataclass(frozen=True)
class Reading:
    """`codes`: what each answer becomes, those without a code being left out; None takes answers as they are.

    symmetric: two labels that mean nothing in themselves (the sides of a comparison).
    """

    level: Level
    codes: Mapping[float, float] | None = None
    symmetric: bool = False

    @property
    def title(self) -> str:
        if self.symmetric:
            return _("nominal, sides interchangeable, without ties")
        titles = {
            "nominal": _("nominal"),
            "ordinal": _("ordinal, a tie between the sides") if self.codes else _("ordinal"),
            "interval": _("interval"),
            "ratio": _("ratio"),
        }
        return titles[self.level]


def leading(question: MeasuredQuestion) -> Reading:
    """What is printed first. Which side of a comparison was stored first is arbitrary, so what leads does not rest on
    it, whatever the level of the question: with ties between the sides (ordinal) it would, as De counts each side."""
    if question.is_preference:
        return _SIDED
    return Reading(_level(question.level))


def readings(question: MeasuredQuestion, votes: Votes) -> list[Reading]:
    """All that make sense, from the least that is assumed to the most."""
    if question.is_preference:
        return [_SIDED, Reading("nominal"), Reading("ordinal", ORDERED)]
    if question.level == "nominal":
        return [Reading("nominal")]
    levels: tuple[Level, ...] = ("nominal", "ordinal", "interval")
    positive = bool(len(votes)) and float(votes.value.min()) >= 0
    return [Reading(level) for level in (*levels, "ratio") if level != "ratio" or positive]


def for_agreement(votes: Votes) -> Votes:
    """What agreement may rest on: all the votes, or the first of each unit where the rest came because these differed.

    Votes given here are in the order of time, so that their own order breaks ties.
    """
    k = votes.question.first_votes
    if k is None:
        return votes
    return votes.select(first_votes(votes.unit, votes.at, k=k, ids=np.arange(len(votes))).kept)


def patterns_of(votes: Votes, reading: Reading, *, by_prompt: bool = False) -> Patterns:
    """The votes as ratings of units; with `by_prompt`, units about one prompt belong together."""
    clusters = votes.units.prompt[votes.unit] if by_prompt else None
    return patterns_from_long(votes.unit, values_of(votes, reading), clusters=clusters)


def values_of(votes: Votes, reading: Reading) -> FloatArray:
    """The votes as the reading takes them; NaN for those it leaves out."""
    return votes.value if reading.codes is None else _recoded(votes.value, reading.codes)


def agreement_of(votes: Votes, reading: Reading, settings: ReportSettings) -> Agreement:
    method: Method = "clusters" if settings.interval == "items" else settings.interval
    patterns = patterns_of(votes, reading, by_prompt=method == "clusters")
    interval = IntervalSettings(method, settings.resampling)
    if reading.symmetric:
        return symmetric_alpha(patterns, interval=interval)
    return krippendorff_alpha(patterns, level=reading.level, interval=interval)


def measured(agreement: Agreement) -> Measured:
    low, high = agreement.ci or (None, None)
    return Measured(agreement.alpha, low, high, because(agreement.reason))


def _recoded(values: FloatArray, codes: Mapping[float, float]) -> FloatArray:
    found = np.full(len(values), np.nan)
    for value, code in codes.items():
        found[values == value] = code
    return found


def _level(level: str) -> Level:
    levels: dict[str, Level] = {"ordinal": "ordinal", "interval": "interval", "ratio": "ratio"}
    return levels.get(level, "nominal")


_SIDED = Reading("nominal", SIDES, symmetric=True)
