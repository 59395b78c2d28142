"""Versions of learned models as pages list and show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as look_up

from analytics.reports.learned.held_out import version_name
from labeling_ui.learned_words import by_importance
from labeling_ui.run_lines import flat
from scoring.models import LearnedModel, ScoringRun

# A list names so many; a version's own page has all of them.
_KEY_FIGURES = 2
# What the page of a version shows in its own way, and what only its file has: the long list of held-out items.
_SHOWN_ELSEWHERE = ("figures", "baselines", "ceiling", "repeats", "held_out")


@dataclass(frozen=True)
class Figure:
    """`sd` is over `n` trainings; None for one. An undefined figure has no mean."""

    name: str
    mean: float | None
    sd: float | None
    n: int


@dataclass(frozen=True)
class LearnedLine:
    """share: per cent of the work in hand. n_items: held out."""

    model: LearnedModel
    name: str
    figures: list[Figure]
    n_items: int
    n_raters: int
    share: int
    stage: str


def learned_lines(models: Iterable[LearnedModel]) -> list[LearnedLine]:
    return [learned_line(model) for model in models]


def learned_line(model: LearnedModel) -> LearnedLine:
    job, held = model.job, model.record.get("held_out", {})
    return LearnedLine(
        model=model,
        name=version_name(model),
        figures=figures_of(model.record.get("figures", {}))[:_KEY_FIGURES],
        n_items=len(held.get("items", ())),
        n_raters=len(held.get("raters", ())),
        share=round(100 * job.done / job.total) if job.total else 0,
        stage=_stage(job.stage),
    )


def figures_of(stated: Mapping[str, Mapping[str, Any]]) -> list[Figure]:
    """The most telling first."""
    return [
        Figure(look_up(name), stated[name].get("mean"), stated[name].get("sd"), stated[name].get("n") or 0)
        for name in by_importance(stated)
    ]


def _stage(told: str) -> str:
    """ "training (2/5)" in the reader's language: which of several trainings stands behind what is done."""
    name, space, number = told.partition(" (")
    return f"{look_up(name)}{space}{number}" if name else ""


def record_lines(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """A training record as text under dotted names."""
    return list(flat({name: value for name, value in record.items() if name not in _SHOWN_ELSEWHERE}))


def rescoring(model: LearnedModel) -> ScoringRun | None:
    """The last run that scored the study with this version."""
    own = ScoringRun.objects.filter(study=model.study_id, metric=model.kind, options__checkpoint=model.folder)
    return own.order_by("-pk").first()
