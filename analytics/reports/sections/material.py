"""Report settings and the data that every section reads: the study and its votes by question."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Literal

import numpy as np
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from analytics.code_version import code_version
from analytics.data.votes import EXCLUDED, EXCLUDED_BY_RULE, NOBODY, Votes
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


def named_raters(votes: Votes) -> int | None:
    """How many raters are known by name; None where an import named nobody at all."""
    named = np.unique(votes.rater[votes.rater != NOBODY])
    return None if not len(named) and len(votes) else len(named)


@dataclass(frozen=True, eq=False)
class PutBack:
    """The votes that count with `n` excluded ones among them. `key`: of the table that shows it."""

    key: str
    label: str
    n: int
    votes: Votes


def put_back(votes: Votes) -> list[PutBack]:
    """With the votes that quality rules have excluded, and with all: rules' and persons'. Each only where it is
    another set. Those that the review keeps out stay out."""
    rules, persons = votes.n_excluded(EXCLUDED_BY_RULE), votes.n_excluded(EXCLUDED)
    found = []
    if rules:
        label = _("with votes that rules excluded")
        found.append(PutBack("excluded-by-rules", label, rules, votes.with_excluded(EXCLUDED_BY_RULE)))
    if persons:
        back = votes.with_excluded(EXCLUDED, EXCLUDED_BY_RULE)
        found.append(PutBack("excluded", _("with excluded votes put back"), rules + persons, back))
    return found


def how_made(resampling: Resampling) -> list[tuple[str, str]]:
    """The last facts of a document's head: resampling and software."""
    drawn = _("%(replicates)s replicates, seed %(seed)s")
    packages = [f"{name} {version(name.lower())}" for name in ("NumPy", "SciPy")]
    python = ".".join(platform.python_version_tuple()[:2])
    return [
        (_("Resampling"), drawn % {"replicates": f"{resampling.replicates:,}", "seed": resampling.seed}),
        (_("Software"), ", ".join([f"Concord {code_version()}", f"Python {python}", *packages])),
    ]


def kind_word(kind: str) -> str:
    words = {
        "preference": _("preference"),
        "rating": _("rating"),
        "correctness": _("correctness"),
        "choice": _("one of several options"),
        "choices": _("an option of several"),
        "ranking": _("ranking"),
    }
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
