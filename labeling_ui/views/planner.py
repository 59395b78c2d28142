"""How many votes a study needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import get_language
from django.views.decorators.cache import never_cache

from analytics.questions import MeasuredQuestion, measured_questions
from analytics.reports.plan import Asked, Goal, Kind, answer
from analytics.reports.plan_pilot import agreement_figures, published
from analytics.services import figures, plan_jobs
from annotation import access
from annotation.models import Job, Study
from annotation.services.protocols import loaded
from labeling_ui import planner_page
from labeling_ui.forms.planner import GOALS, HabitsForm, PlanForm, pilot_fields, sent
from labeling_ui.planner_words import GOALS as GOAL_WORDS
from labeling_ui.planner_words import PILOT_NOTES, PUBLISHED

# A continuous scale is put on so many points for synthetic raters.
_POINTS = 101


@dataclass(frozen=True)
class Start:
    """Where a plan's numbers start. own: whether the study's votes say it; `votes` then describes them."""

    asked: Asked
    own: bool
    votes: Mapping[str, Any]
    computed: Any


@login_required
@never_cache
def planner(request: HttpRequest, slug: str) -> HttpResponse:
    """Formulas of the numbers in the address; posted to, votes are read or the plan is tried in the background."""
    study = access.managed_study(request.user, slug)
    questions = measured_questions(study)
    if not questions:
        return render(request, "labeling_ui/planner/planner.html", {"study": study})
    question = next((one for one in questions if one.key == request.GET.get("question")), questions[0])
    kind = "preference" if question.is_preference else "rating"
    goal = request.GET.get("goal", "")
    start = _start(study, question, kind, goal if goal in GOALS[kind] else GOALS[kind][0])
    form = PlanForm(sent(request.GET), start=start.asked)
    habits = HabitsForm(request.POST if "try" in request.POST else None, kind=kind)
    if request.method == "POST" and _begun(request, study, form, habits):
        return redirect(request.get_full_path())
    context = {
        "study": study,
        "question": question,
        "questions": _titles(study, questions),
        "goal": start.asked.goal,
        "goals": [(goal, GOAL_WORDS[kind, goal]) for goal in GOALS[kind]],
        "form": form,
        "habits": habits,
        **_pilot_context(study, start),
        **(_answer_context(study, form.asked) if form.is_valid() else {}),
    }
    return render(request, "labeling_ui/planner/planner.html", context)


def _begun(request: HttpRequest, study: Study, form: PlanForm, habits: HabitsForm) -> bool:
    """Whether what was posted started a job."""
    if "read" in request.POST:
        plan_jobs.start_pilot(study, actor=request.user)
        return True
    if not (form.is_valid() and habits.is_valid()):
        return False
    plan_jobs.start_simulation(study, form.asked, habits.habits, actor=request.user)
    return True


def _start(study: Study, question: MeasuredQuestion, kind: str, goal: str) -> Start:
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
        kind=cast(Kind, kind),
        goal=cast(Goal, goal),
        overlap=max(study.overlap, 2 if goal == "alpha" else 1),
        systems=max(votes.get("systems", 0) if kind == "rating" else 0, 2),
        panel=question.per_candidate,
        half_width=_half_width(kind, goal, width),
        difference=float(f"{width * 0.075:.2g}"),
        seconds=read["seconds"],
        points=question.points if len(question.points) > 1 else _continuous(width),
        level=question.level,
    )
    wanted = {name: float(numbers[name]) for name in pilot_fields(kind, goal)}
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


def _titles(study: Study, questions: list[MeasuredQuestion]) -> list[tuple[str, str]]:
    spec = loaded(study.protocol_version_id).spec
    asked = ((one, spec.question(one.key)) for one in questions)
    return [
        (one.key, one.title if found is None else found.title.in_language(get_language() or "en"))
        for one, found in asked
    ]


def _pilot_context(study: Study, start: Start) -> dict[str, Any]:
    _done, newest = plan_jobs.latest(study, plan_jobs.PILOT)
    goal = start.asked.goal
    return {
        "own": start.own,
        "votes": start.votes,
        "computed_at": start.computed,
        "published": PUBLISHED[start.asked.kind, goal == "alpha"],
        "pilot_notes": [PILOT_NOTES[code] for code in start.votes.get("notes", ())]
        if goal != "alpha"
        else [],
        "pilot_job": newest,
    }


def _answer_context(study: Study, asked: Asked) -> dict[str, Any]:
    found = answer(asked)
    columns, rows = planner_page.alternatives(found)
    done, newest = plan_jobs.latest_simulation(study, asked)
    return {
        "answer": found,
        "sentence": planner_page.sentence(found),
        "notes": planner_page.notes(found),
        "assumptions": planner_page.assumptions(found.plan),
        "columns": columns,
        "rows": rows,
        "job": newest,
        **(_simulation_context(done, asked) if done else {}),
    }


def _simulation_context(done: Job, asked: Asked) -> dict[str, Any]:
    return {
        "simulation": done.report,
        "tried": planner_page.simulation_sentences(done.report, asked),
        "curves": planner_page.curves(done.report, asked),
        "curve_rows": planner_page.curve_rows(done.report),
    }
