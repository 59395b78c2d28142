"""The review queue: which cases there are, taking one, putting it back, giving them to experts, saved views."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import review_access
from annotation.api import paging
from annotation.api.queue_shapes import (
    AssignedOut,
    AssignIn,
    CaseRowOut,
    ClaimedOut,
    FiltersIn,
    QueueCountsOut,
    QueueIn,
    QueueOut,
    ReviewViewIn,
    ReviewViewOut,
    ReviewViewsOut,
    filters_of,
)
from annotation.api.scopes import Scope
from annotation.api.shapes import problems
from annotation.models import ReviewCase, ReviewView, User
from annotation.rules.flag_rules import KINDS
from annotation.services import blind, case_queue, cases, review_views
from annotation.services.case_queue import STATES

PARAMETERS = [
    *paging.PARAMETERS,
    OpenApiParameter("state", str, enum=STATES, description="Open cases, unless said."),
    OpenApiParameter("rule", str, enum=list(KINDS)),
    OpenApiParameter("assigned", str, description="me, nobody, or an expert's e-mail address."),
    OpenApiParameter("strata", str, many=True, description="Each as name=value; all must match."),
    OpenApiParameter("text", str, description="Part of the item's name, question or prompt."),
]


class QueueView(APIView):
    @extend_schema(
        operation_id="review_queue",
        parameters=PARAMETERS,
        responses={200: QueueOut, **problems(400, 403, 404)},
    )
    def get(self, request: Request, slug: str) -> Response:
        """The cases that experts should look at, the most pressing first: for experts and those who run the study."""
        found = review_access.study_with_queue(request.user, slug)
        asked: dict[str, Any] = request.query_params.dict()
        if "strata" in asked:
            asked["strata"] = request.query_params.getlist("strata")
        wanted = QueueIn.parsed(asked)
        page = case_queue.page(
            found.study,
            filters_of(wanted),
            reader=request.user,
            after=wanted.get("after"),
            limit=wanted["limit"],
        )
        query = urlencode({**wanted, "after": page.next_after}, doseq=True)
        body = {
            "next": None if page.next_after is None else f"{request.path}?{query}",
            "counts": QueueCountsOut(case_queue.counts(found.study, reader=request.user)).data,
            "results": CaseRowOut(page.rows, many=True).data,
        }
        return Response(body)


class NextCaseView(APIView):
    writes = Scope.REVIEW

    @extend_schema(
        operation_id="claim_next_case",
        request=FiltersIn,
        responses={200: ClaimedOut, 204: None, **problems(400, 403, 404)},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Claim the most pressing open case that the filters let through; 204 where none is left."""
        filters = filters_of(FiltersIn.parsed(request.data))
        case = cases.claim_next(request.user, slug, filters)
        if case is None:
            return Response(status=204)
        return Response(_claimed(begun(request.user, case), request.user))


class ClaimView(APIView):
    writes = Scope.REVIEW

    @extend_schema(
        operation_id="claim_case", request=None, responses={200: ClaimedOut, **problems(403, 404, 409)}
    )
    def post(self, request: Request, case_id: int) -> Response:
        """Take a case to work on, as opening it at the desk does. Claiming one's own again renews it."""
        case = cases.claim(request.user, case_id)
        return Response(_claimed(begun(request.user, case), request.user))


class PutBackView(APIView):
    writes = Scope.REVIEW

    @extend_schema(
        operation_id="put_back_case", request=None, responses={200: ClaimedOut, **problems(403, 404)}
    )
    def post(self, request: Request, case_id: int) -> Response:
        """Give up a case that is not decided: it is open to others again."""
        return Response(_claimed(cases.put_back(request.user, case_id), request.user))


class CaseAssignmentsView(APIView):
    @extend_schema(
        operation_id="assign_cases",
        request=AssignIn,
        responses={200: AssignedOut, **problems(400, 403, 404)},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Give unresolved cases to one of the study's experts, or back to everybody; those who run the study do."""
        body = AssignIn.parsed(request.data)
        return Response({"changed": cases.assign(request.user, slug, body["cases"], expert=body["expert"])})


class ReviewViewsView(APIView):
    writes = Scope.REVIEW

    @extend_schema(operation_id="review_views", responses={200: ReviewViewsOut, **problems(403, 404)})
    def get(self, request: Request, slug: str) -> Response:
        """Your saved views of the queue, and those that others share: 50 of each person at most."""
        rows = [_view(view, request.user) for view in review_views.of(request.user, slug)]
        return Response({"results": rows})

    @extend_schema(
        operation_id="save_review_view",
        request=ReviewViewIn,
        responses={201: ReviewViewOut, **problems(400, 403, 404)},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Save filters under a name; your own view of that name is replaced."""
        body = ReviewViewIn.parsed(request.data)
        filters = filters_of(body["filters"])
        view = review_views.save(
            request.user, slug, name=body["name"], filters=filters, shared=body["shared"]
        )
        return Response(_view(view, request.user), status=201)


class ReviewViewView(APIView):
    writes = Scope.REVIEW

    @extend_schema(operation_id="delete_review_view", responses={204: None, **problems(403, 404)})
    def delete(self, request: Request, slug: str, view_id: int) -> Response:
        """Forget one of your views; those who run the study may forget shared ones."""
        review_views.delete(request.user, slug, view_id)
        return Response(status=204)


def begun(user: User, case: ReviewCase) -> ReviewCase:
    """The claimed case with its blind stage begun, where it has one that is still to come."""
    if not blind.knows(case, user):
        blind.begin(user, case.pk)
        case.refresh_from_db()
    return case


def _claimed(case: ReviewCase, user: User) -> dict[str, Any]:
    return {
        "id": case.pk,
        "state": case.state,
        "claim_expires_at": case.claim_expires_at,
        "judged": blind.knows(case, user),
    }


def _view(view: ReviewView, reader: User) -> dict[str, Any]:
    return {
        "id": view.pk,
        "name": view.name,
        "shared": view.shared,
        "mine": view.owner_id == reader.pk,
        "filters": view.filters,
    }
