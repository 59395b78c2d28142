"""How many votes a study needs."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import get_language
from django.utils.translation import gettext as look_up
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from analytics.data.questions import MeasuredQuestion, scaled_questions
from analytics.planning import pilot
from analytics.planning.pilot import StartingValues
from analytics.planning.rules import GOALS, PlanRequest, plan_study
from analytics.reports import study_report
from analytics.reports.study_report import STEPS
from analytics.statistics.bootstrap import REPLICATES
from analytics.statistics.planning.variance_components import SENTENCES
from annotation import access
from annotation.models import Job, Study
from annotation.studies.protocols import load_protocol
from labeling_ui.page_responses import document_attachment, document_context, is_part_request, render_part
from labeling_ui.reports import planner_page
from labeling_ui.reports.forms import HabitsForm, PlanForm, ReportForm, submitted_numbers
from labeling_ui.templatetags.formatting import in_language

# What a study found, as a paper would print it.


@login_required
@never_cache
@vary_on_headers("HX-Request")
def report(request: HttpRequest, slug: str) -> HttpResponse:
    """The last report that was made; posted to, a new one is asked for. Only the part that moves when that asks."""
    study = access.managed_study(request.user, slug)
    newest = study_report.newest_report_job(study)
    if is_part_request(request):
        finished = newest is None or newest.is_finished
        return render_part(request, "reports/live", {"study": study} | _progress(newest), finished=finished)
    done = study_report.last_finished_report(study)
    form = ReportForm(request.POST or None, initial=_report_initial(done))
    if form.is_valid():
        study_report.start_report(study, actor=request.user, **form.cleaned_data)
        return redirect("report", slug)
    context = {"study": study, "form": form, "computed_at": done.finished_at if done else None}
    if done:
        context |= document_context(study_report.document_of_job(done), "report_file", slug)
    return render(request, "labeling_ui/reports/report.html", context | _progress(newest))


@login_required
@require_safe
def report_file(request: HttpRequest, slug: str, key: str, extension: str) -> HttpResponse:
    """The last report as one file, all of its tables and figures, or one of them."""
    study = access.managed_study(request.user, slug)
    done = study_report.last_finished_report(study)
    if done is None:
        raise Http404
    return document_attachment(
        study_report.document_of_job(done), key, extension, stem=f"{study.slug}-report"
    )


def _progress(job: Job | None) -> dict[str, object]:
    """`step`: what the worker is at, by its name and number."""
    if job is None or job.is_finished:
        return {"job": job}
    place = min(job.done, len(STEPS) - 1)
    return {"job": job, "step": STEPS[place], "number": place + 1, "steps": len(STEPS)}


def _report_initial(done: Job | None) -> dict[str, object]:
    """As last time."""
    first = {"interval": "jackknife", "replicates": REPLICATES, "seed": 0, "language": get_language()}
    return done.params if done else first


@login_required
@never_cache
def planner(request: HttpRequest, slug: str) -> HttpResponse:
    """Formulas of the numbers in the address; posted to, votes are read or the plan is tried in the background."""
    study = access.managed_study(request.user, slug)
    questions = scaled_questions(study)
    if not questions:
        return render(request, "labeling_ui/reports/planner/planner.html", {"study": study})
    question = next((one for one in questions if one.key == request.GET.get("question")), questions[0])
    kind = pilot.kind_of(question)
    start = pilot.starting_values(study, question, pilot.goal_of(kind, request.GET.get("goal", "")))
    form = PlanForm(submitted_numbers(request.GET), start=start.asked)
    habits = HabitsForm(request.POST if "try" in request.POST else None, kind=kind)
    if request.method == "POST" and _start_job(request, study, form, habits):
        return redirect(request.get_full_path())
    context = {
        "study": study,
        "question": question,
        "questions": _question_titles(study, questions),
        "goal": start.asked.goal,
        "goals": [(goal, planner_page.GOAL_LABELS[kind, goal]) for goal in GOALS[kind]],
        "form": form,
        "habits": habits,
        **_pilot_context(study, start),
        **(_answer_context(study, form.asked) if form.is_valid() else {}),
    }
    return render(request, "labeling_ui/reports/planner/planner.html", context)


def _start_job(request: HttpRequest, study: Study, form: PlanForm, habits: HabitsForm) -> bool:
    """Whether what was posted started a job."""
    if "read" in request.POST:
        pilot.start_pilot(study, actor=request.user)
        return True
    if not (form.is_valid() and habits.is_valid()):
        return False
    pilot.start_simulation(study, form.asked, habits.habits, actor=request.user)
    return True


def _question_titles(study: Study, questions: list[MeasuredQuestion]) -> list[tuple[str, str]]:
    protocol = load_protocol(study.protocol_version_id).spec
    specs = ((question, protocol.question(question.key)) for question in questions)
    return [(row.key, row.title if spec is None else in_language(spec.title)) for row, spec in specs]


def _pilot_context(study: Study, start: StartingValues) -> dict[str, Any]:
    _done, newest = pilot.latest_pilot(study, pilot.PILOT)
    goal = start.asked.goal
    return {
        "own": start.own,
        "votes": start.votes,
        "computed_at": start.computed_at,
        "published": planner_page.PUBLISHED_SOURCES[start.asked.kind, goal == "alpha"],
        "pilot_notes": [look_up(SENTENCES[code]) for code in start.votes.get("notes", ())]
        if goal != "alpha"
        else [],
        "pilot_job": newest,
    }


def _answer_context(study: Study, request: PlanRequest) -> dict[str, Any]:
    result = plan_study(request)
    columns, rows = planner_page.overlap_alternatives(result)
    done, newest = pilot.latest_simulation(study, request)
    return {
        "answer": result,
        "sentence": planner_page.plan_sentence(result),
        "notes": planner_page.plan_notes(result),
        "assumptions": planner_page.plan_assumptions(result.plan),
        "columns": columns,
        "rows": rows,
        "job": newest,
        **(_simulation_context(done, request) if done else {}),
    }


def _simulation_context(done: Job, request: PlanRequest) -> dict[str, Any]:
    return {
        "simulation": done.report,
        "tried": planner_page.simulation_sentences(done.report, request),
        "curves": planner_page.simulation_curves(done.report, request),
        "curve_rows": planner_page.simulation_rows(done.report),
    }
