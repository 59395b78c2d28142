"""How many votes a study needs."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import get_language
from django.views.decorators.cache import never_cache

from analytics.questions import MeasuredQuestion, measured_questions
from analytics.reports.plan import GOALS, Asked, answer
from analytics.services import plan_jobs, plan_starts
from analytics.services.plan_starts import Start
from annotation import access
from annotation.models import Job, Study
from annotation.services.protocols import loaded
from labeling_ui import planner_page
from labeling_ui.forms.planner import HabitsForm, PlanForm, sent
from labeling_ui.planner_words import GOALS as GOAL_WORDS
from labeling_ui.planner_words import PILOT_NOTES, PUBLISHED


@login_required
@never_cache
def planner(request: HttpRequest, slug: str) -> HttpResponse:
    """Formulas of the numbers in the address; posted to, votes are read or the plan is tried in the background."""
    study = access.managed_study(request.user, slug)
    questions = measured_questions(study)
    if not questions:
        return render(request, "labeling_ui/planner/planner.html", {"study": study})
    question = next((one for one in questions if one.key == request.GET.get("question")), questions[0])
    kind = plan_starts.kind_of(question)
    start = plan_starts.start(study, question, plan_starts.goal_of(kind, request.GET.get("goal", "")))
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
        "computed_at": start.computed_at,
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
