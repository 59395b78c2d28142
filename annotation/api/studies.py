"""Studies: those one takes part in, making them, changing their rules and state."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access
from annotation.access import StudyAccess
from annotation.api import paging
from annotation.api.shapes import problems
from annotation.api.study_shapes import (
    MeOut,
    StudyChangeIn,
    StudyDetailOut,
    StudyIn,
    StudyOut,
    StudyPageOut,
)
from annotation.models import Study
from annotation.models.people import Role
from annotation.services import studies

EITHER = PolymorphicProxySerializer(
    component_name="StudyAsSeen", serializers=[StudyOut, StudyDetailOut], resource_type_field_name=None
)


class MeView(APIView):
    @extend_schema(operation_id="me", responses={200: MeOut, **problems(403)})
    def get(self, request: Request) -> Response:
        """Who is signed in, and their role in each study they take part in."""
        user = request.user
        roles = access.studies_of(user).filter(memberships__user=user).order_by("pk")
        body = {"name": user.name, "may_create_studies": user.may_create_studies, "roles": roles}
        return Response(MeOut(body).data)


class StudiesView(APIView):
    of_account = True

    @extend_schema(
        operation_id="studies",
        parameters=paging.PARAMETERS,
        responses={200: StudyPageOut, **problems(400, 403)},
    )
    def get(self, request: Request) -> Response:
        """The studies you take part in."""
        return Response(paging.page(request, access.studies_of(request.user), StudyOut))

    @extend_schema(
        operation_id="create_study",
        request=StudyIn,
        responses={201: StudyDetailOut, **problems(400, 403, 409)},
    )
    def post(self, request: Request) -> Response:
        """Make a study from a preset. It starts as a draft, and you are its admin."""
        study = studies.create(actor=request.user, **StudyIn.parsed(request.data))
        return Response(as_seen(StudyAccess(study, Role.ADMIN)), status=201)


class StudyView(APIView):
    @extend_schema(operation_id="study", responses={200: EITHER, **problems(403, 404)})
    def get(self, request: Request, slug: str) -> Response:
        """A study: its name and state to those who rate, all of it to those who run it."""
        return Response(as_seen(access.study_of(request.user, slug)))

    @extend_schema(
        operation_id="change_study",
        request=StudyChangeIn,
        responses={200: StudyDetailOut, **problems(400, 403, 404)},
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Change title, description, minutes per task, listening rules and checks, when to stop early, or state."""
        study = access.managed_study(request.user, slug)
        studies.change(study, actor=request.user, **StudyChangeIn.parsed(request.data))
        return Response(as_seen(access.study_of(request.user, slug)))


def as_seen(seen: StudyAccess) -> dict[str, Any]:
    study: Study = seen.study
    study.role = seen.role  # type: ignore[attr-defined]
    return dict((StudyDetailOut if seen.manages else StudyOut)(study).data)
