"""The expert's side: judge a case blind, keep it while at work, decide about it, take the decision back."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import review_access
from annotation.api.rating_shapes import AssignmentOut, JudgmentIn, JudgmentOut
from annotation.api.review_shapes import (
    CaseOut,
    CorrectionIn,
    FineIn,
    KeptOut,
    ReturnsIn,
    WithdrawalIn,
)
from annotation.api.scopes import Scope
from annotation.api.shapes import problems
from annotation.models import ReviewCase
from annotation.services import blind, cases, decisions, judgments, returns, undo


class BlindView(APIView):
    writes = Scope.REVIEW

    @extend_schema(operation_id="blind_task", responses={200: AssignmentOut, **problems(403, 404, 409)})
    def get(self, request: Request, case_id: int) -> Response:
        """The task of a case as any rater would see it, before anything that others said of it."""
        return Response(blind.brief(request.user, case_id))

    @extend_schema(
        operation_id="judge_blind",
        request=JudgmentIn,
        responses={
            200: OpenApiResponse(JudgmentOut, "Stored before: the first result again."),
            201: OpenApiResponse(JudgmentOut, "Stored, and committed."),
            **problems(400, 403, 404, 409),
        },
    )
    def post(self, request: Request, case_id: int) -> Response:
        """Store your own judgment of a case; what others said is there to see from then on. Counted nowhere."""
        submission = judgments.Submission(**JudgmentIn.parsed(request.data))
        receipt = blind.judge(request.user, case_id, submission)
        body = {"client_id": str(receipt.client_id), "surplus": receipt.surplus}
        return Response(body, status=200 if receipt.replayed else 201)


class KeepView(APIView):
    writes = Scope.REVIEW

    @extend_schema(
        operation_id="keep_case", request=None, responses={200: KeptOut, **problems(403, 404, 409)}
    )
    def post(self, request: Request, case_id: int) -> Response:
        """Keep a case that you have claimed while you are at work on it."""
        return Response({"claim_expires_at": cases.keep(request.user, case_id).claim_expires_at})


class CorrectionView(APIView):
    writes = Scope.REVIEW

    @extend_schema(
        operation_id="correct_case",
        request=CorrectionIn,
        responses={200: CaseOut, **problems(400, 403, 404, 409)},
    )
    def post(self, request: Request, case_id: int) -> Response:
        """Settle a case by correcting its item: a new version, with one correction for each field that changed."""
        corrections = decisions.Corrections(**CorrectionIn.parsed(request.data))
        decisions.correct(request.user, case_id, corrections)
        return _case(review_access.reviewed_case(request.user, case_id))


class FineView(APIView):
    writes = Scope.REVIEW

    @extend_schema(
        operation_id="case_is_fine", request=FineIn, responses={200: CaseOut, **problems(400, 403, 404, 409)}
    )
    def post(self, request: Request, case_id: int) -> Response:
        """Settle a case: its item is good as it is."""
        return _case(decisions.fine(request.user, case_id, **FineIn.parsed(request.data)))


class WithdrawalView(APIView):
    writes = Scope.REVIEW

    @extend_schema(
        operation_id="withdraw_item",
        request=WithdrawalIn,
        responses={200: CaseOut, **problems(400, 403, 404, 409)},
    )
    def post(self, request: Request, case_id: int) -> Response:
        """Settle a case by taking its item out of the study."""
        return _case(decisions.withdraw(request.user, case_id, **WithdrawalIn.parsed(request.data)))


class ReturnsView(APIView):
    writes = Scope.REVIEW

    @extend_schema(
        operation_id="return_case",
        request=ReturnsIn,
        responses={200: CaseOut, **problems(400, 403, 404, 409)},
    )
    def post(self, request: Request, case_id: int) -> Response:
        """Ask the raters of some judgments to look again, or everybody for more judgments."""
        body = ReturnsIn.parsed(request.data)
        if body["to"] == "raters":
            returns.to_rater(request.user, case_id, body["judgments"], body["comment"])
        else:
            returns.to_pool(request.user, case_id, body["comment"], votes=body.get("votes"))
        return _case(review_access.reviewed_case(request.user, case_id))


class UndoView(APIView):
    writes = Scope.REVIEW

    @extend_schema(
        operation_id="undo_decision", request=None, responses={200: CaseOut, **problems(403, 404, 409)}
    )
    def post(self, request: Request, case_id: int) -> Response:
        """Take back what you decided about a case, while the study lets you. It is yours again then."""
        return _case(undo.undo(request.user, case_id))


def _case(case: ReviewCase) -> Response:
    body: dict[str, Any] = {"id": case.pk, "state": case.state, "decision": case.decision}
    return Response(body)
