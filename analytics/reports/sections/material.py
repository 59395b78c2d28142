"""Report settings and the data that every section reads: the study and its votes by question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from analytics.data.votes import Votes
from analytics.statistics.bootstrap import Resampling
from annotation.models import Study

# jackknife: over units. units, items: bootstrap over units, or over items (each prompt or question with all its units).
Interval = Literal["jackknife", "units", "items"]


@dataclass(frozen=True)
class ReportSettings:
    """`interval` is that of Krippendorff's alpha; other figures are resampled by clusters, as each says."""

    interval: Interval = "jackknife"
    resampling: Resampling = field(default_factory=Resampling)


@dataclass(frozen=True)
class ReportData:
    """`votes`: by question, in the order asked; all votes with their marks, so take `.counted()` for most figures."""

    study: Study
    votes: tuple[Votes, ...]
    settings: ReportSettings


# What a report calls kinds of questions, levels of measurement, and lists.


def kind_word(kind: str) -> str:
    words = {"preference": _("preference"), "rating": _("rating"), "correctness": _("correctness")}
    return words.get(kind, kind)


def level_word(level: str) -> str:
    words = {"nominal": _("nominal"), "ordinal": _("ordinal"), "interval": _("interval"), "ratio": _("ratio")}
    return words.get(level, level)


def list_numbers(values: Sequence[float]) -> str:
    """1, 2, 3 – from four whole numbers in a row on, 1–5."""
    if len(values) > 3 and list(values) == [values[0] + step for step in range(len(values))]:
        return f"{values[0]:g}–{values[-1]:g}"
    return ", ".join(f"{value:g}" for value in values)


def join_sentences(parts: Sequence[str]) -> str:
    """One paragraph. Chinese has no space between sentences."""
    return ("" if (get_language() or "").startswith("zh") else " ").join(part for part in parts if part)
