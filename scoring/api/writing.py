"""Writing runs: how far they are, what they wrote, publishing it. For those who run the study."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access
from annotation.api import paging
from annotation.api.shapes import problems
from scoring.access import writing_run_of
from scoring.api.writer_shapes import (
    PublishIn,
    WritingRunOut,
    WritingRunPageOut,
    WrittenPageOut,
    WrittenRowOut,
    WrittenRowsIn,
)
from scoring.models import WritingRow, WritingRun
from scoring.services import writing_publishing, writing_runs


class WritingRunsView(APIView):
    @extend_schema(
        operation_id="writing_runs",
        parameters=paging.PARAMETERS,
        responses={200: WritingRunPageOut, **problems(400, 403, 404)},
    )
    def get(self, request: Request, slug: str) -> Response:
        """What writers wrote for a study's items, the newest run first. Drafts for cases are with the cases."""
        study = access.managed_study(request.user, slug)
        found = WritingRun.objects.filter(study=study).exclude(purpose=WritingRun.Purpose.DRAFTS)
        found = found.select_related("study", "writer")
        return Response(paging.page(request, found, WritingRunOut, newest_first=True))


class WritingRunView(APIView):
    @extend_schema(operation_id="writing_run", responses={200: WritingRunOut, **problems(403, 404)})
    def get(self, request: Request, run_id: int) -> Response:
        """One run, and how far it is."""
        return Response(WritingRunOut(writing_run_of(request.user, run_id)).data)


class WrittenRowsView(APIView):
    @extend_schema(
        operation_id="written_rows",
        parameters=[
            *paging.PARAMETERS,
            OpenApiParameter(
                "fault", str, description="Only rows with this fault; otherwise what was written."
            ),
        ],
        responses={200: WrittenPageOut, **problems(400, 403, 404)},
    )
    def get(self, request: Request, run_id: int) -> Response:
        """What a run has written; or what became nothing, or was not published, for one reason."""
        run = writing_run_of(request.user, run_id)
        fault = WrittenRowsIn.parsed(request.query_params.dict()).get("fault")
        rows = WritingRow.objects.filter(run=run).select_related("item_version__item", "system")
        rows = rows.filter(fault=fault) if fault else rows.filter(state=WritingRow.State.DONE)
        return Response(paging.page(request, rows, WrittenRowOut, asked=WrittenRowsIn))


class PublishView(APIView):
    @extend_schema(
        operation_id="publish_writing",
        request=PublishIn,
        responses={200: WritingRunOut, **problems(400, 403, 404, 409)},
    )
    def post(self, request: Request, run_id: int) -> Response:
        """Give what a run has written to the items, in the background, but for what was left out."""
        run = writing_run_of(request.user, run_id)
        cut = PublishIn.parsed(request.data)["cut"]
        return Response(WritingRunOut(writing_publishing.publish(run, cut=cut, actor=request.user)).data)


class CancelWritingView(APIView):
    @extend_schema(
        operation_id="cancel_writing",
        request=None,
        responses={200: WritingRunOut, **problems(403, 404, 409)},
    )
    def post(self, request: Request, run_id: int) -> Response:
        """Stop a run, and the publishing of what was looked at. What it has written stays."""
        run = writing_run_of(request.user, run_id)
        return Response(WritingRunOut(writing_runs.cancel(run, actor=request.user)).data)


class RetryWritingView(APIView):
    @extend_schema(
        operation_id="retry_writing",
        request=None,
        responses={200: WritingRunOut, **problems(403, 404, 409)},
    )
    def post(self, request: Request, run_id: int) -> Response:
        """Try what failed once more, and go on with a run that failed or was cancelled."""
        run = writing_run_of(request.user, run_id)
        return Response(WritingRunOut(writing_runs.retry(run, actor=request.user)).data)


class LeaveOutView(APIView):
    @extend_schema(
        operation_id="leave_out_written",
        request=None,
        responses={200: WrittenRowOut, **problems(403, 404, 409)},
    )
    def post(self, request: Request, run_id: int, row_id: int) -> Response:
        """Keep one text from being published. It stays with the run."""
        run = writing_run_of(request.user, run_id)
        return Response(WrittenRowOut(writing_publishing.leave_out(run, row_id, actor=request.user)).data)
