"""API of the planner. Shares are from 0 to 1; standard deviations in the units of the scale."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from analytics.data.questions import MeasuredQuestion, scaled_questions
from analytics.planning import pilot
from analytics.planning.rules import GOALS, PlanRequest, RaterHabits, plan_study
from analytics.reports.api import ReportJobOut
from analytics.statistics.planning.sample_size import SamplePlan, StudyDesign
from annotation import access
from annotation.api.serializers import In, Out, operation
from annotation.errors import FieldProblem, InvalidInput
from annotation.models import Study

_GOALS = sorted({goal for goals in GOALS.values() for goal in goals})


def _number(least: float, most: float, text: str = "") -> serializers.FloatField:
    return serializers.FloatField(required=False, min_value=least, max_value=most, help_text=text)


class PlanStartIn(In):
    question = serializers.CharField(
        required=False, max_length=40, help_text="A question's key; the first, unless said."
    )
    goal = serializers.ChoiceField(_GOALS, required=False, help_text="What is wanted of the votes.")


class PlanNumbersIn(In):
    """What is left out is as …/plan/ says it starts."""

    half_width = _number(0.0001, 1e6, "Of the interval.")
    difference = _number(0.0001, 1e6, "Of two means, in points of the scale.")
    win_rate = _number(0, 1, "Of the votes that are no ties.")
    accuracy = _number(0.501, 0.999, "Share of majorities that are right.")
    items = serializers.IntegerField(required=False, min_value=1, max_value=1_000_000)
    power = _number(0.05, 0.999)
    confidence = _number(0.5, 0.9999)
    systems = serializers.IntegerField(required=False, min_value=1, max_value=1000)
    overlap = serializers.IntegerField(required=False, min_value=1, max_value=1000)
    votes_per_rater = serializers.IntegerField(required=False, min_value=1, max_value=1_000_000)
    seconds = _number(0.1, 36_000, "For one vote.")
    sd_raters = _number(0, 1e6)
    sd_items = _number(0, 1e6)
    sd_outputs = _number(0, 1e6)
    sd_residual = _number(0.0001, 1e6)
    ties = _number(0, 0.95)
    between_items = _number(0, 0.99, "Correlation of two votes on a comparison.")
    between_raters = _number(0, 0.99, "Correlation of a rater's votes.")
    alpha = _number(-0.5, 0.999)
    alpha_error = _number(0.0001, 1e6, "Its standard error times the root of the units.")
    pilot_overlap = _number(2, 1000, "Ratings of a unit there.")


class PlanIn(PlanStartIn):
    numbers = PlanNumbersIn(default=dict)


class HabitsIn(In):
    """How synthetic raters err."""

    careless = serializers.FloatField(
        default=0.0, min_value=0, max_value=0.9, help_text="Share who answer anything."
    )
    shown_first = serializers.FloatField(
        default=0.5,
        min_value=0.01,
        max_value=0.99,
        help_text="Of comparisons with nothing to choose, the share that what is shown first wins.",
    )


class SimulationIn(PlanIn):
    habits = HabitsIn(default=dict)


class PlanStartOut(serializers.Serializer):
    question = serializers.CharField()
    questions = serializers.ListField(
        child=serializers.CharField(), help_text="Those that can be planned for."
    )
    kind = serializers.CharField()
    goal = serializers.CharField()
    goals = serializers.ListField(child=serializers.CharField())
    numbers = serializers.DictField(help_text="What a plan starts from.")
    own = serializers.BooleanField(help_text="Whether the study's votes say so, or published figures.")
    votes = serializers.DictField(help_text="What is known of those votes.")
    computed_at = serializers.DateTimeField(allow_null=True)
    pilot_job = serializers.UUIDField(allow_null=True, help_text="The newest reading of votes.")


class DesignOut(Out):
    shape = StudyDesign
    shown = "blocks items overlap votes_per_rater votes raters"
    notes = {"blocks": "Systems, or pairs of them.", "votes": "In all."}


class PlanOut(Out):
    shape = SamplePlan
    shown = "design reached design_effect assumptions reason"
    design = DesignOut(allow_null=True, help_text="Null where no design gets there; `reason` says why.")


class AlternativeOut(serializers.Serializer):
    overlap = serializers.IntegerField()
    plan = PlanOut()


class PlanAnswerOut(serializers.Serializer):
    asked = serializers.DictField()
    plan = PlanOut()
    hours = serializers.FloatField(allow_null=True, help_text="Of raters' time.")
    alternatives = AlternativeOut(many=True, help_text="The same target with another overlap.")
    job = serializers.UUIDField(allow_null=True, help_text="The newest trial of this plan.")
    simulation = serializers.DictField(allow_null=True, help_text="What the last finished one found.")


def plan_problems(numbers: dict[str, Any], *, kind: str, goal: str) -> dict[str, str]:
    """What does not go together, by field."""
    problems = {}
    if goal == "power" and kind == "preference" and numbers["win_rate"] == 0.5:
        problems["win_rate"] = "At a win rate of one half there is no difference to find."
    if numbers["between_items"] + numbers["between_raters"] >= 1:
        problems["between_raters"] = "The two correlations stay below 1 together."
    least, most = (2, 100) if kind == "preference" else (2 if goal == "power" else 1, 1000)
    if not least <= numbers["systems"] <= most:
        problems["systems"] = f"Give a whole number from {least} to {most}."
    if goal == "alpha" and numbers["overlap"] < 2:
        problems["overlap"] = "Agreement takes two votes on each."
    if (kind == "preference" or goal == "alpha") and numbers["half_width"] > 1:
        problems["half_width"] = "This is a share: give a number up to 1."
    return {f"numbers.{name}": text for name, text in problems.items()}


class PlanView(APIView):
    @operation("plan_start", PlanStartOut, 400, 403, 404, parameters=[PlanStartIn])
    def get(self, request: Request, slug: str) -> Response:
        """Where a plan's numbers start. No vote is read."""
        study = access.managed_study(request.user, slug)
        query = PlanStartIn.parsed(request.query_params.dict())
        question = _question(study, query)
        kind = pilot.kind_of(question)
        start = pilot.starting_values(study, question, pilot.goal_of(kind, query.get("goal", "")))
        _done, newest = pilot.latest_pilot(study, pilot.PILOT)
        body = {
            "question": question.key,
            "questions": [one.key for one in scaled_questions(study)],
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

    @operation("plan", PlanAnswerOut, 400, 403, 404, request=PlanIn)
    def post(self, request: Request, slug: str) -> Response:
        """How many votes reach a goal, by formulas. Nothing is stored."""
        study = access.managed_study(request.user, slug)
        plan_request = _plan_request(study, PlanIn.parsed(request.data))
        result = plan_study(plan_request)
        done, newest = pilot.latest_simulation(study, plan_request)
        body = {
            "asked": plan_request.as_json(),
            "plan": result.plan,
            "hours": result.hours,
            "alternatives": result.alternatives,
            "job": newest.pk if newest else None,
            "simulation": done.report if done else None,
        }
        return Response(PlanAnswerOut(body).data)


class PilotView(APIView):
    @operation("start_plan_pilot", ReportJobOut, 403, 404, status=202, request=None)
    def post(self, request: Request, slug: str) -> Response:
        """Read in the background what the study's own votes say of its variances."""
        study = access.managed_study(request.user, slug)
        job = pilot.start_pilot(study, actor=request.user)
        return Response({"job": job.pk, "state": job.state}, status=202)


class SimulationView(APIView):
    @operation("start_plan_simulation", ReportJobOut, 400, 403, 404, status=202, request=SimulationIn)
    def post(self, request: Request, slug: str) -> Response:
        """Try a plan with synthetic raters, in the background."""
        study = access.managed_study(request.user, slug)
        body = SimulationIn.parsed(request.data)
        plan_request = _plan_request(study, body)
        job = pilot.start_simulation(study, plan_request, RaterHabits(**body["habits"]), actor=request.user)
        return Response({"job": job.pk, "state": job.state}, status=202)


def _question(study: Study, body: dict[str, Any]) -> MeasuredQuestion:
    questions = {one.key: one for one in scaled_questions(study)}
    key = body.get("question", next(iter(questions), ""))
    if key not in questions:
        known = ", ".join(questions) or "none of this study"
        problem = FieldProblem("question", f"No question that can be planned for is called so: {known} can.")
        raise InvalidInput(problem.message, problems=[problem])
    return questions[key]


def _plan_request(study: Study, body: dict[str, Any]) -> PlanRequest:
    """Raises InvalidInput for numbers that do not go together."""
    question = _question(study, body)
    kind = pilot.kind_of(question)
    start = pilot.starting_values(study, question, pilot.goal_of(kind, body.get("goal", ""))).asked
    plan_request = replace(start, **body["numbers"])
    if problems := plan_problems(plan_request.as_json(), kind=kind, goal=plan_request.goal):
        listed = [FieldProblem(name, text) for name, text in problems.items()]
        raise InvalidInput("These numbers do not go together.", problems=listed)
    return plan_request
