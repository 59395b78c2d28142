"""A study's writers, starting them, and texts that were written elsewhere: for those who run the study."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access
from annotation.api import paging
from annotation.api.shapes import problems
from scoring.access import writer_of
from scoring.api.writer_shapes import (
    DraftOutcomeOut,
    DraftOutcomesOut,
    TakenInOut,
    TextsIn,
    WriterChangeIn,
    WriterIn,
    WriterKindOut,
    WriterKindsOut,
    WriterOut,
    WriterPageOut,
    WritingIn,
    WritingRunOut,
    wanted,
)
from scoring.models import Writer
from scoring.services import writers, writing_drafts, writing_runs, writing_uploads
from scoring.services.writers import Wanted
from scoring.services.writing_file_checks import Allowing
from scoring.writing.catalogue import KINDS


class WriterKindsView(APIView):
    @extend_schema(operation_id="writer_kinds", responses={200: WriterKindsOut, **problems(403)})
    def get(self, request: Request) -> Response:
        """What models can be set up to write, and their settings."""
        return Response({"results": WriterKindOut([*KINDS.values()], many=True).data})


class WritersView(APIView):
    @extend_schema(
        operation_id="writers",
        parameters=paging.PARAMETERS,
        responses={200: WriterPageOut, **problems(400, 403, 404)},
    )
    def get(self, request: Request, slug: str) -> Response:
        """The writers that a study has set up, retired ones too."""
        study = access.managed_study(request.user, slug)
        found = Writer.objects.filter(study=study).select_related("system")
        return Response(paging.page(request, found, WriterOut))

    @extend_schema(
        operation_id="add_writer",
        request=WriterIn,
        responses={201: WriterOut, **problems(400, 403, 404)},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Set up a writer. No model is loaded: whether it opens is seen when it is first asked."""
        study = access.managed_study(request.user, slug)
        body = WriterIn.parsed(request.data)
        writer = writers.add(study, Wanted(**wanted(body)), actor=request.user)
        return Response(WriterOut(writer).data, status=201)


class WriterView(APIView):
    @extend_schema(operation_id="writer", responses={200: WriterOut, **problems(403, 404)})
    def get(self, request: Request, slug: str, writer_id: int) -> Response:
        """One writer and its settings."""
        return Response(WriterOut(writer_of(request.user, slug, writer_id)).data)

    @extend_schema(
        operation_id="change_writer",
        request=WriterChangeIn,
        responses={200: WriterOut, **problems(400, 403, 404)},
    )
    def patch(self, request: Request, slug: str, writer_id: int) -> Response:
        """Set a writer up otherwise for what is asked of it from now on; retire it, or bring it back."""
        writer = writer_of(request.user, slug, writer_id)
        body = WriterChangeIn.parsed(request.data)
        if set(body) - {"retired"}:
            writer = writers.change(writer, Wanted(**wanted(body, writer)), actor=request.user)
        if body.get("retired", writer.retired) != writer.retired:
            writer = writers.retire(writer, retired=body["retired"], actor=request.user)
        return Response(WriterOut(writer).data)


class StartWriterView(APIView):
    @extend_schema(
        operation_id="start_writing",
        request=WritingIn,
        responses={202: WritingRunOut, **problems(400, 403, 404, 409)},
    )
    def post(self, request: Request, slug: str, writer_id: int) -> Response:
        """Have a writer write, in the background, for the items that lack what it writes."""
        writer = writer_of(request.user, slug, writer_id)
        run = writing_runs.request(writer, **WritingIn.parsed(request.data), actor=request.user)
        return Response(WritingRunOut(run).data, status=202)


class TextsView(APIView):
    parser_classes = [MultiPartParser]

    @extend_schema(
        operation_id="take_in_texts",
        request={"multipart/form-data": TextsIn},
        responses={202: TakenInOut, **problems(400, 403, 404, 413)},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Texts and answers that were written elsewhere, all or nothing; what is there already is passed over."""
        study = access.managed_study(request.user, slug)
        body = TextsIn.parsed(request.data)
        taken = writing_uploads.take_in(
            study,
            body["file"],
            allowing=Allowing(body["anew"], body["judged"], body["new_systems"]),
            publishes=body["publishes"],
            actor=request.user,
        )
        return Response(TakenInOut(taken).data, status=202)


class DraftOutcomesView(APIView):
    @extend_schema(operation_id="draft_outcomes", responses={200: DraftOutcomesOut, **problems(403, 404)})
    def get(self, request: Request, slug: str) -> Response:
        """What became of the drafts that models wrote for experts, by writer and field."""
        found = writing_drafts.draft_outcomes(access.managed_study(request.user, slug))
        return Response({"results": DraftOutcomeOut(found, many=True).data})
