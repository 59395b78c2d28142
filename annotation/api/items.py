"""Single items with their versions and corrections, tasks with their progress, and a study's protocol versions."""

from __future__ import annotations

from django.db.models import Prefetch, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access, content_access
from annotation.api import paging
from annotation.api.item_shapes import (
    CorrectionOut,
    CorrectionPageOut,
    ItemInFullOut,
    ProtocolVersionOut,
    ProtocolVersionPageOut,
    TaskOut,
    TaskPageOut,
)
from annotation.api.shapes import problems
from annotation.models import Candidate, Correction, ItemVersion, TaskCandidate


class ItemView(APIView):
    @extend_schema(operation_id="item", responses={200: ItemInFullOut, **problems(403, 404)})
    def get(self, request: Request, slug: str, item_id: int) -> Response:
        """One item with all of its versions, their candidates, and the corrections that made them."""
        item = content_access.item_of(request.user, slug, item_id)
        candidates = Candidate.objects.select_related("system", "clip").defer("clip__peaks").order_by("pk")
        versions = ItemVersion.objects.filter(item=item).select_related("item", "created_by")
        body = {
            **{name: getattr(item, name) for name in ("id", "external_id", "state", "strata", "created_at")},
            "versions": versions.prefetch_related(Prefetch("candidates", candidates)).order_by("number"),
            "corrections": _corrections().filter(version_after__item=item).order_by("pk"),
        }
        return Response(ItemInFullOut(body).data)


class TasksView(APIView):
    @extend_schema(
        operation_id="tasks",
        parameters=paging.PARAMETERS,
        responses={200: TaskPageOut, **problems(400, 403, 404)},
    )
    def get(self, request: Request, slug: str) -> Response:
        """The tasks of a study, and how many judgments each has and wants."""
        study = access.managed_study(request.user, slug)
        slots = TaskCandidate.objects.select_related("candidate__system").order_by("slot")
        tasks = study.tasks.select_related("item_version__item").prefetch_related(Prefetch("slots", slots))
        return Response(paging.page(request, tasks, TaskOut))


class CorrectionsView(APIView):
    @extend_schema(
        operation_id="corrections",
        parameters=paging.PARAMETERS,
        responses={200: CorrectionPageOut, **problems(400, 403, 404)},
    )
    def get(self, request: Request, slug: str) -> Response:
        """What experts changed in a study's items, field by field, the newest first."""
        study = access.managed_study(request.user, slug)
        found = _corrections().filter(study=study)
        return Response(paging.page(request, found, CorrectionOut, newest_first=True))


class ProtocolVersionsView(APIView):
    @extend_schema(
        operation_id="protocol_versions",
        parameters=paging.PARAMETERS,
        responses={200: ProtocolVersionPageOut, **problems(400, 403, 404)},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Every version of what a study asked, in full; answers name the version that they were given to."""
        study = access.managed_study(request.user, slug)
        found = study.protocol_versions.select_related("created_by")
        return Response(paging.page(request, found, ProtocolVersionOut))


def _corrections() -> QuerySet[Correction]:
    return Correction.objects.select_related("version_before", "version_after__item", "author")
