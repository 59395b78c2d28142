"""Simulations over the API: start one, list those there are. What one found is the report of its job."""

from __future__ import annotations

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from analytics.raters.rules import PRESETS
from analytics.reports.api import ReportJobOut
from analytics.simulation import jobs
from annotation import access
from annotation.api.serializers import In, Out, operation
from annotation.models import Study
from annotation.simulation import simulations, truth
from annotation.simulation.profiles import DEFAULT_MIX, MAX_RATERS, profiles


class RaterSimulationIn(In):
    profile = serializers.CharField(
        default=DEFAULT_MIX,
        max_length=400,
        help_text=f"Raters by profile, such as careful:30,bot:4; of {', '.join(profiles())}.",
    )
    raters = serializers.IntegerField(required=False, min_value=1, max_value=MAX_RATERS, help_text="In all.")
    votes = serializers.IntegerField(
        default=30, min_value=1, max_value=simulations.MAX_VOTES, help_text="Of each rater, at most."
    )
    overlap = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=simulations.MAX_VOTES,
        help_text="Judgments per task; without it the study's own, or as many as the raters' votes need.",
    )  # fmt: skip
    seed = serializers.IntegerField(default=1, min_value=0, max_value=2**31 - 1)
    truth_from = serializers.ChoiceField(
        truth.SOURCES, default="votes", help_text="Of regular tasks: the study's votes so far, or drawn."
    )
    rules = serializers.ChoiceField(
        ["", *PRESETS], default="", help_text="A preset in place of the study's own quality rules."
    )


class SimulationOut(Out):
    shape, shown = Study, "slug title state created_at"


class SimulationsView(APIView):
    @operation("simulations", SimulationOut(many=True), 403, 404)
    def get(self, request: Request, slug: str) -> Response:
        """The simulations of a study, the newest first: each is a study of its own."""
        study = access.managed_study(request.user, slug)
        return Response(SimulationOut(simulations.simulations_of(study), many=True).data)

    @operation("start_simulation", ReportJobOut, 400, 403, 404, 409, status=202, request=RaterSimulationIn)
    def post(self, request: Request, slug: str) -> Response:
        """Let simulated raters work on a marked copy of the study. The job's report says whom the rules found."""
        study = access.managed_study(request.user, slug)
        job = jobs.start_simulation(study, actor=request.user, **RaterSimulationIn.parsed(request.data))
        return Response({"job": job.pk, "state": job.state}, status=202)
