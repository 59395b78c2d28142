"""The audit log as a file."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from typing import Any

from django.db.models import F
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.views import APIView

from annotation import access
from annotation.api.shapes import In, problems
from annotation.formulas import defused
from annotation.models import AuditEvent, Study

_COLUMNS = ("id", "at", "actor", "action", "subject", "data")
_CHUNK = 2000
_TYPES = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}


class AuditFileIn(In):
    format = serializers.ChoiceField(list(_TYPES), default="jsonl")


class AuditFileView(APIView):
    @extend_schema(
        operation_id="audit_file",
        parameters=[
            OpenApiParameter("format", str, enum=list(_TYPES), description="jsonl, unless csv is asked for.")
        ],
        responses={
            (200, "application/x-ndjson"): OpenApiTypes.STR,
            (200, "text/csv"): OpenApiTypes.STR,
            **problems(400, 403, 404),
        },
    )
    def get(self, request: Request, slug: str) -> StreamingHttpResponse:
        """The whole audit log of a study, oldest first: a JSON object or a CSV row for each event."""
        study = access.managed_study(request.user, slug)
        format = AuditFileIn.parsed(request.query_params.dict())["format"]
        events = _events(study)
        response = StreamingHttpResponse(
            _csv(events) if format == "csv" else _jsonl(events), content_type=_TYPES[format]
        )
        response["Content-Disposition"] = f'attachment; filename="{study.slug}-audit.{format}"'
        return response


def _events(study: Study) -> Iterator[dict[str, Any]]:
    """A chunk at a time, by key: nothing is held open while somebody reads slowly."""
    rows = AuditEvent.objects.filter(study=study).annotate(who=F("actor__name")).order_by("pk")
    last = 0
    while found := list(
        rows.filter(pk__gt=last).values("id", "at", "who", "action", "subject", "data")[:_CHUNK]
    ):
        for row in found:
            yield {**row, "actor": row["who"], "at": row["at"].isoformat()}
        last = found[-1]["id"]


def _jsonl(events: Iterable[dict[str, Any]]) -> Iterator[str]:
    for event in events:
        yield json.dumps({name: event[name] for name in _COLUMNS}, ensure_ascii=False) + "\n"


class _Line:
    """What a CSV writer writes to: it hands back each line."""

    def write(self, line: str) -> str:
        return line


def _csv(events: Iterable[dict[str, Any]]) -> Iterator[str]:
    writer = csv.writer(_Line())
    yield str(writer.writerow(_COLUMNS))
    for event in events:
        data = json.dumps(event["data"], ensure_ascii=False)
        cells = [str(event[name] or "") for name in _COLUMNS[:-1]]
        yield str(writer.writerow([defused(cell) for cell in [*cells, data]]))
