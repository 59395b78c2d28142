"""A study at a glance, what has scored it, and how the scores of a run lie: for those who run the study."""

from __future__ import annotations

from dataclasses import asdict

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from analytics.api.study_shapes import (
    DistributionOut,
    DistributionsOut,
    OverviewIn,
    OverviewOut,
    StudyScorerOut,
    StudyScorersOut,
)
from analytics.reports import scorers, scoring_run
from analytics.reports.overview import overview
from annotation import access
from annotation.api.shapes import problems
from scoring.access import run_of


class OverviewView(APIView):
    @extend_schema(
        operation_id="overview",
        parameters=[OpenApiParameter("raters_after", str, description="Raters from behind this pseudonym.")],
        responses={200: OverviewOut, **problems(400, 403, 404)},
    )
    def get(self, request: Request, slug: str) -> Response:
        """A study's progress, from counters, and its figures as last computed."""
        study = access.managed_study(request.user, slug)
        asked = OverviewIn.parsed(request.query_params.dict())
        found = overview(study, raters_after=asked.get("raters_after", ""))
        progress = {**vars(found.progress), "share": found.progress.share}
        body = {
            **asdict(found),
            "progress": progress,
            "raters": [asdict(row) for row in found.raters.rows],
            "raters_after": found.raters.next_after,
        }
        return Response(OverviewOut(body).data)


class StudyScorersView(APIView):
    @extend_schema(operation_id="study_scorers", responses={200: StudyScorersOut, **problems(403, 404)})
    def get(self, request: Request, slug: str) -> Response:
        """The scorer versions that have scored a study, the newest first, and how much of it."""
        found = scorers.scored(access.managed_study(request.user, slug))
        rows = StudyScorerOut(found.rows, many=True).data
        return Response({"n_candidates": found.n_candidates, "results": rows})


class DistributionsView(APIView):
    @extend_schema(
        operation_id="score_distributions", responses={200: DistributionsOut, **problems(403, 404)}
    )
    def get(self, request: Request, run_id: int) -> Response:
        """How the scores of a run's first 10,000 rows lie, for each output."""
        found = scoring_run.distributions(run_of(request.user, run_id))
        return Response({"results": DistributionOut(found, many=True).data})
