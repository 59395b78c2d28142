"""Scorers, runs of them over a study, and the scores they left: for those who run the study."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access
from annotation.api import paging
from annotation.api.shapes import problems
from scoring.access import run_of
from scoring.api.shapes import (
    FailedRowOut,
    FaultCountOut,
    FaultPageOut,
    RunIn,
    RunOut,
    RunPageOut,
    ScoreOut,
    ScorePageOut,
    ScorerOut,
    ScorersOut,
    ScoresIn,
)
from scoring.metrics import registry
from scoring.models import ScoringRun
from scoring.services import faults, runs, scores


class ScorersView(APIView):
    @extend_schema(operation_id="scorers", responses={200: ScorersOut, **problems(403)})
    def get(self, request: Request) -> Response:
        """The scorers there are, and their settings."""
        entries = [registry.METRICS[name] for name in sorted(registry.METRICS)]
        return Response({"results": ScorerOut(entries, many=True).data})


class RunsView(APIView):
    @extend_schema(
        operation_id="scoring_runs",
        parameters=paging.PARAMETERS,
        responses={200: RunPageOut, **problems(400, 403, 404)},
    )
    def get(self, request: Request, slug: str) -> Response:
        """The scoring runs of a study, newest first."""
        study = access.managed_study(request.user, slug)
        found = ScoringRun.objects.filter(study=study).select_related("study", "scorer", "created_by")
        return Response(paging.page(request, found, RunOut, newest_first=True))

    @extend_schema(
        operation_id="start_scoring_run",
        request=RunIn,
        responses={202: RunOut, **problems(400, 403, 404, 409)},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Score a study, or a part of it, in the background: what this version of the scorer has not scored yet."""
        study = access.managed_study(request.user, slug)
        body = RunIn.parsed(request.data)
        run = runs.request(study, body.pop("scorer"), body.pop("options"), actor=request.user, **body)
        return Response(RunOut(run).data, status=202)


class RunView(APIView):
    @extend_schema(operation_id="scoring_run", responses={200: RunOut, **problems(403, 404)})
    def get(self, request: Request, run_id: int) -> Response:
        """A run over a study that you run, with its progress."""
        return Response(RunOut(run_of(request.user, run_id)).data)


class CancelView(APIView):
    @extend_schema(
        operation_id="cancel_scoring_run", request=None, responses={200: RunOut, **problems(403, 404, 409)}
    )
    def post(self, request: Request, run_id: int) -> Response:
        """Stop a run. What it has scored stays."""
        return Response(RunOut(runs.cancel(run_of(request.user, run_id), actor=request.user)).data)


class RetryView(APIView):
    @extend_schema(
        operation_id="retry_scoring_run", request=None, responses={200: RunOut, **problems(403, 404, 409)}
    )
    def post(self, request: Request, run_id: int) -> Response:
        """Try again what failed, and go on with a run that failed or was cancelled."""
        return Response(RunOut(runs.retry(run_of(request.user, run_id), actor=request.user)).data)


class FaultsView(APIView):
    @extend_schema(
        operation_id="scoring_faults",
        parameters=paging.PARAMETERS,
        responses={200: FaultPageOut, **problems(400, 403, 404)},
    )
    def get(self, request: Request, run_id: int) -> Response:
        """What could not be scored in a run, counted by reason (the first 10,000) and row by row."""
        run = run_of(request.user, run_id)
        counts = FaultCountOut(faults.counted(run), many=True).data
        return Response({"counts": counts, **paging.page(request, faults.failed(run), FailedRowOut)})


class ScoresView(APIView):
    @extend_schema(
        operation_id="scores",
        parameters=[
            *paging.PARAMETERS,
            OpenApiParameter(
                "scorer",
                {"type": "string", "pattern": "^([0-9a-f]{64}|[a-z][a-z0-9-]{0,59})$"},
                description="A scorer's name, or the digest of one version of it.",
            ),
        ],
        responses={200: ScorePageOut, **problems(400, 403, 404)},
    )
    def get(self, request: Request, slug: str) -> Response:
        """What scorers said of a study's candidates. Raters never see it."""
        study = access.managed_study(request.user, slug)
        asked = ScoresIn.parsed(request.query_params.dict())
        found = scores.of(study, scorer=asked.get("scorer", ""))
        return Response(paging.page(request, found, ScoreOut, asked=ScoresIn))
