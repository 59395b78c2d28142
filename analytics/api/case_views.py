"""A review case with what was said of it, and an item's history: under the rules of their pages."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from analytics.api.case_shapes import CaseInFullOut, ItemHistoryOut, task_body
from analytics.reports import case_votes
from analytics.reports.item_history import as_json, item_history
from annotation import access, review_access
from annotation.api.shapes import problems
from annotation.models import ReviewCase
from annotation.rules.review import CORRECTABLE
from annotation.services import blind, case_queue

_UNKNOWN = ("version", "version_id", "is_past", "texts", "reasons", "tasks", "returns", "comment")


class CaseView(APIView):
    @extend_schema(operation_id="case", responses={200: CaseInFullOut, **problems(403, 404)})
    def get(self, request: Request, case_id: int) -> Response:
        """A case: votes, scores and evidence once you have judged it blind, or where you run the study."""
        case = review_access.case_in_queue(request.user, case_id)
        manages = access.study_of(request.user, case.study.slug).manages
        known = manages or blind.knows(case, request.user)
        row = vars(case_queue.row(case, reader=request.user))
        body = {**row, "known": known, **(_detail(case) if known else dict.fromkeys(_UNKNOWN))}
        return Response(CaseInFullOut(body).data)


class ItemHistoryView(APIView):
    @extend_schema(operation_id="item_history", responses={200: ItemHistoryOut, **problems(403, 404)})
    def get(self, request: Request, slug: str, item_id: int) -> Response:
        """Everything that happened to an item, in order. Experts learn of votes on versions that they have judged."""
        found = review_access.item_in_queue(request.user, slug, item_id)
        history = item_history(found.item, votes_up_to=found.votes_up_to)
        return Response(ItemHistoryOut(as_json(history)).data)


def _detail(case: ReviewCase) -> dict[str, Any]:
    version = case.item_version
    return {
        "version": version.number,
        "version_id": version.pk,
        "is_past": case.item.current_version_id != version.pk,
        "texts": {name: text for name in CORRECTABLE if (text := getattr(version, name))},
        "reasons": case.reasons.order_by("fired_at", "pk"),
        "tasks": [task_body(task) for task in case_votes.votes_on(version, first=case.task)],
        "returns": case.returns.select_related("rater").order_by("pk"),
        "comment": case.comment,
    }
