"""How many votes a study needs: for those who run it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from analytics.api.plan_shapes import (
    PlanAnswerOut,
    PlanIn,
    PlanStartIn,
    PlanStartOut,
    SimulationIn,
    faults,
)
from analytics.api.report_shapes import ReportJobOut
from analytics.questions import MeasuredQuestion, measured_questions
from analytics.reports.plan import GOALS, Asked, answer
from analytics.reports.plan_simulation import Habits
from analytics.services import plan_jobs, plan_starts
from annotation import access
from annotation.api.shapes import problems
from annotation.errors import FieldProblem, InvalidInput
from annotation.models import Study


class PlanView(APIView):
    @extend_schema(
        operation_id="plan_start",
        parameters=[PlanStartIn],
        responses={200: PlanStartOut, **problems(400, 403, 404)},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Where a plan's numbers start. No vote is read."""
        study = access.managed_study(request.user, slug)
        asked = PlanStartIn.parsed(request.query_params.dict())
        question = _question(study, asked)
        kind = plan_starts.kind_of(question)
        start = plan_starts.start(study, question, plan_starts.goal_of(kind, asked.get("goal", "")))
        _done, newest = plan_jobs.latest(study, plan_jobs.PILOT)
        body = {
            "question": question.key,
            "questions": [one.key for one in measured_questions(study)],
            "kind": kind,
            "goal": start.asked.goal,
            "goals": GOALS[kind],
            "numbers": start.asked.as_json(),
            "own": start.own,
            "votes": dict(start.votes),
            "computed_at": start.computed_at,
            "pilot_job": newest.pk if newest else None,
        }
        return Response(PlanStartOut(body).data)

    @extend_schema(
        operation_id="plan",
        request=PlanIn,
        responses={200: PlanAnswerOut, **problems(400, 403, 404)},
    )
    def post(self, request: Request, slug: str) -> Response:
        """How many votes reach a goal, by formulas. Nothing is stored."""
        study = access.managed_study(request.user, slug)
        asked = _asked(study, PlanIn.parsed(request.data))
        found = answer(asked)
        done, newest = plan_jobs.latest_simulation(study, asked)
        body = {
            "asked": asked.as_json(),
            "plan": found.plan,
            "hours": found.hours,
            "alternatives": found.alternatives,
            "job": newest.pk if newest else None,
            "simulation": done.report if done else None,
        }
        return Response(PlanAnswerOut(body).data)


class PilotView(APIView):
    @extend_schema(
        operation_id="start_plan_pilot", request=None, responses={202: ReportJobOut, **problems(403, 404)}
    )
    def post(self, request: Request, slug: str) -> Response:
        """Read in the background what the study's own votes say of its variances."""
        study = access.managed_study(request.user, slug)
        job = plan_jobs.start_pilot(study, actor=request.user)
        return Response({"job": job.pk, "state": job.state}, status=202)


class SimulationView(APIView):
    @extend_schema(
        operation_id="start_plan_simulation",
        request=SimulationIn,
        responses={202: ReportJobOut, **problems(400, 403, 404)},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Try a plan with synthetic raters, in the background."""
        study = access.managed_study(request.user, slug)
        body = SimulationIn.parsed(request.data)
        asked = _asked(study, body)
        job = plan_jobs.start_simulation(study, asked, Habits(**body["habits"]), actor=request.user)
        return Response({"job": job.pk, "state": job.state}, status=202)


def _question(study: Study, asked: dict[str, Any]) -> MeasuredQuestion:
    found = {one.key: one for one in measured_questions(study)}
    key = asked.get("question", next(iter(found), ""))
    if key not in found:
        there = ", ".join(found) or "none of this study"
        problem = FieldProblem("question", f"No question that can be planned for is called so: {there} can.")
        raise InvalidInput(problem.message, problems=[problem])
    return found[key]


def _asked(study: Study, body: dict[str, Any]) -> Asked:
    """Raises InvalidInput for numbers that do not go together."""
    question = _question(study, body)
    kind = plan_starts.kind_of(question)
    start = plan_starts.start(study, question, plan_starts.goal_of(kind, body.get("goal", ""))).asked
    asked = replace(start, **body["numbers"])
    if wrong := faults(asked.as_json(), kind=kind, goal=asked.goal):
        found = [FieldProblem(name, text) for name, text in wrong.items()]
        raise InvalidInput("These numbers do not go together.", problems=found)
    return asked
