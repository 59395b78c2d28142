"""Drafts of a case's texts, for the expert who works on it and has judged it blind."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import review_access
from annotation.api.scopes import Scope
from annotation.api.shapes import problems
from annotation.errors import NotFound
from annotation.models import ReviewCase, User
from annotation.services import blind, cases, drafts
from scoring.api.writer_shapes import AskDraftIn, DraftOut, DraftsOut, DraftWriterOut
from scoring.models import Writer
from scoring.services import writing_drafts


class DraftsView(APIView):
    writes = Scope.REVIEW

    @extend_schema(operation_id="case_drafts", responses={200: DraftsOut, **problems(403, 404)})
    def get(self, request: Request, case_id: int) -> Response:
        """What models proposed for the texts of a case that you have judged, and which of them can be asked."""
        return Response(_drafts(_judged(request.user, case_id)))

    @extend_schema(
        operation_id="ask_for_draft",
        request=AskDraftIn,
        responses={202: DraftsOut, **problems(400, 403, 404, 409)},
    )
    def post(self, request: Request, case_id: int) -> Response:
        """Ask a writer for a draft of its field; it comes in the background."""
        case = _judged(request.user, case_id)
        body = AskDraftIn.parsed(request.data)
        with transaction.atomic():
            held = cases.held(request.user, case.pk)
            if "writer" not in body:
                writing_drafts.offer(held, actor=request.user)
            else:
                writer = _writer(held, body["writer"])
                writing_drafts.request(held, writer, actor=request.user, note=body["note"])
        return Response(_drafts(case), status=202)


class RejectDraftView(APIView):
    writes = Scope.REVIEW

    @extend_schema(
        operation_id="reject_draft", request=None, responses={200: DraftOut, **problems(403, 404, 409)}
    )
    def post(self, request: Request, case_id: int, draft_id: int) -> Response:
        """Say that a draft is not wanted. Rejecting twice is once."""
        case = _judged(request.user, case_id)
        if not case.drafts.filter(pk=draft_id).exists():
            raise NotFound
        return Response(DraftOut(drafts.reject(request.user, draft_id)).data)


def _judged(user: User, case_id: int) -> ReviewCase:
    case = review_access.reviewed_case(user, case_id)
    if not blind.knows(case, user):
        raise NotFound
    return case


def _writer(case: ReviewCase, writer_id: int) -> Writer:
    writer = next((one for one in writing_drafts.writers_for(case) if one.pk == writer_id), None)
    if writer is None:
        raise NotFound
    return writer


def _drafts(case: ReviewCase) -> dict[str, Any]:
    found = case.drafts.filter(item_version_id=case.item_version_id).order_by("-pk")
    writers = writing_drafts.writers_for(case)
    return {"results": DraftOut(found, many=True).data, "writers": DraftWriterOut(writers, many=True).data}
