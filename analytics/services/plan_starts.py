"""Where a plan's numbers start: what the study's own votes say, as last computed, or figures that were published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from analytics.questions import MeasuredQuestion
from analytics.reports.plan import GOALS, PILOT_FIELDS, Asked, Goal, Kind
from analytics.reports.plan_pilot import agreement_figures, published
from analytics.services import figures, plan_jobs
from annotation.models import Study

# A continuous scale is put on so many points for synthetic raters.
_POINTS = 101


@dataclass(frozen=True)
class Start:
    """Where a plan's numbers start. own: whether the study's votes say it; `votes` then describes them."""

    asked: Asked
    own: bool
    votes: Mapping[str, Any]
    computed_at: datetime | None


def kind_of(question: MeasuredQuestion) -> Kind:
    return "preference" if question.is_preference else "rating"


def goal_of(kind: Kind, wanted: str) -> Goal:
    """The goal that was asked for, where there is such a one for this kind of question; else the first."""
    return next((goal for goal in GOALS[kind] if goal == wanted), GOALS[kind][0])


def start(study: Study, question: MeasuredQuestion, goal: Goal) -> Start:
    """By few queries: no vote is read."""
    kind = kind_of(question)
    done, _newest = plan_jobs.latest(study, plan_jobs.PILOT)
    read = done.report if done else {"questions": {}, "seconds": None}
    votes = read["questions"].get(question.key, {})
    stored = figures.current(study)
    known = (
        agreement_figures(stored.agreement.get(question.key, {}))
        if goal == "alpha"
        else votes.get("figures", {})
    )
    width = question.width or 4.0
    numbers = {**published(kind, width), **known}
    asked = Asked(
        kind=kind,
        goal=goal,
        overlap=max(study.overlap, 2 if goal == "alpha" else 1),
        systems=max(votes.get("systems", 0) if kind == "rating" else 0, 2),
        panel=question.per_candidate,
        half_width=_half_width(kind, goal, width),
        difference=float(f"{width * 0.075:.2g}"),
        seconds=read["seconds"],
        points=question.points if len(question.points) > 1 else _continuous(width),
        level=question.level,
    )
    wanted: dict[str, Any] = {name: float(numbers[name]) for name in PILOT_FIELDS[kind, goal]}
    computed = (
        (stored.computed_at if goal == "alpha" else done.finished_at if done else None) if known else None
    )
    return Start(replace(asked, **wanted), bool(known), votes, computed)


def _half_width(kind: str, goal: str, width: float) -> float:
    if goal == "alpha" or kind == "preference":
        return 0.05
    return float(f"{width * 0.05:.2g}")


def _continuous(width: float) -> tuple[float, ...]:
    return tuple(width * n / (_POINTS - 1) for n in range(_POINTS))
