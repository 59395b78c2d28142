"""The audit log as a file, of one study or of the whole site, and the site's as a list."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.db.models import F, QuerySet
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access
from annotation.api import paging
from annotation.api.content_shapes import SiteAuditEventOut, SiteAuditPageOut
from annotation.api.shapes import In, problems
from annotation.formulas import defused
from annotation.models import AuditEvent
from annotation.services import audit_log

_COLUMNS = ("id", "at", "actor", "action", "subject", "data")
_SITE_COLUMNS = ("id", "at", "study", *_COLUMNS[2:])
_CHUNK = 2000
_TYPES = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}


class AuditFileIn(In):
    format = serializers.ChoiceField(list(_TYPES), default="jsonl")


_FILE: dict[str, Any] = {
    "parameters": [
        OpenApiParameter("format", str, enum=list(_TYPES), description="jsonl, unless csv is asked for.")
    ],
}
_FILE_RESPONSES: dict[Any, Any] = {
    (200, "application/x-ndjson"): OpenApiTypes.STR,
    (200, "text/csv"): OpenApiTypes.STR,
}


class AuditFileView(APIView):
    @extend_schema(
        operation_id="audit_file", responses={**_FILE_RESPONSES, **problems(400, 403, 404)}, **_FILE
    )
    def get(self, request: Request, slug: str) -> StreamingHttpResponse:
        """The whole audit log of a study, oldest first: a JSON object or a CSV row for each event."""
        study = access.managed_study(request.user, slug)
        return _file(request, AuditEvent.objects.filter(study=study), _COLUMNS, name=study.slug)


class SiteAuditView(APIView):
    @extend_schema(
        operation_id="site_audit",
        parameters=paging.PARAMETERS,
        responses={200: SiteAuditPageOut, **problems(400, 403)},
    )
    def get(self, request: Request) -> Response:
        """Who did what on this site, newest first, for those who operate it: in every study, and what is of none, such
        as signing in and tokens."""
        access.check_operator(request.user)
        events = audit_log.told(AuditEvent.objects.annotate(study_slug=F("study__slug")))
        return Response(paging.page(request, events, SiteAuditEventOut, newest_first=True))


class SiteAuditFileView(APIView):
    @extend_schema(
        operation_id="site_audit_file", responses={**_FILE_RESPONSES, **problems(400, 403)}, **_FILE
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        """The whole audit log of this site, oldest first: a JSON object or a CSV row for each event."""
        access.check_operator(request.user)
        return _file(request, AuditEvent.objects.all(), _SITE_COLUMNS, name="site")


def _file(
    request: Request, events: QuerySet[AuditEvent], columns: Sequence[str], *, name: str
) -> StreamingHttpResponse:
    format = AuditFileIn.parsed(request.query_params.dict())["format"]
    rows, lines = _events(events), _csv if format == "csv" else _jsonl
    response = StreamingHttpResponse(lines(rows, columns), content_type=_TYPES[format])
    response["Content-Disposition"] = f'attachment; filename="{name}-audit.{format}"'
    return response


def _events(events: QuerySet[AuditEvent]) -> Iterator[dict[str, Any]]:
    """A chunk at a time, by key: nothing is held open while somebody reads slowly."""
    rows = audit_log.told(events.annotate(study_slug=F("study__slug"))).order_by("pk")
    fields = ("id", "at", "study_slug", "actor_name", "action", "subject", "data")
    last = 0
    while found := list(rows.filter(pk__gt=last).values(*fields)[:_CHUNK]):
        for row in found:
            yield {**row, "actor": row["actor_name"], "study": row["study_slug"], "at": row["at"].isoformat()}
        last = found[-1]["id"]


def _jsonl(events: Iterable[dict[str, Any]], columns: Sequence[str]) -> Iterator[str]:
    for event in events:
        yield json.dumps({name: event[name] for name in columns}, ensure_ascii=False) + "\n"


class _Line:
    """What a CSV writer writes to: it hands back each line."""

    def write(self, line: str) -> str:
        return line


def _csv(events: Iterable[dict[str, Any]], columns: Sequence[str]) -> Iterator[str]:
    writer = csv.writer(_Line())
    yield str(writer.writerow(columns))
    for event in events:
        data = json.dumps(event["data"], ensure_ascii=False)
        cells = [str(event[name] or "") for name in columns[:-1]]
        yield str(writer.writerow([defused(cell) for cell in [*cells, data]]))
