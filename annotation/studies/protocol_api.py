"""The protocol of a study over the API: the version in force, changes, new versions and the draft."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access
from annotation.api.serializers import In, Out, TableField, operation
from annotation.protocols.changes import Change, Kind
from annotation.rating.api import ProtocolOut, ProtocolView
from annotation.studies import protocol_drafts, protocols


class ProtocolVersionIn(In):
    definition = TableField(most=500_000, help_text="The whole protocol, as GET gives it.")
    base = serializers.IntegerField(
        required=False, min_value=1, help_text="The version you started from; 409 where another is in force."
    )


class ProtocolToTryIn(In):
    definition = TableField(most=500_000, help_text="A protocol to compare with the version in force.")


class ProtocolDraftIn(In):
    definition = TableField(most=500_000, help_text="It may have faults; publishing names them.")


class ProtocolChangeOut(Out):
    shape, shown = Change, "where kind part key field language before after reason"
    kind = serializers.ChoiceField([kind.value for kind in Kind])
    allowed = serializers.BooleanField(source="is_allowed")


class ProtocolChangesOut(serializers.Serializer):
    allowed = serializers.BooleanField(help_text="Whether the study's data allow all of them.")
    changes = ProtocolChangeOut(many=True)


class ProtocolDraftOut(serializers.Serializer):
    definition = serializers.JSONField()
    base = serializers.IntegerField(source="base_number", help_text="The version it was begun from.")
    updated_at = serializers.DateTimeField(allow_null=True)


class StudyProtocolView(ProtocolView):
    @operation("publish_protocol", ProtocolOut, 400, 403, 404, 409, status=201, request=ProtocolVersionIn)
    def post(self, request: Request, slug: str) -> Response:
        """Publish a new version. Judgments keep the version they were made under. What the study's data do not allow to
        change is refused, each with its reason, and nothing changes then."""
        study = access.managed_study(request.user, slug)
        version = protocols.publish_protocol(
            study, actor=request.user, **ProtocolVersionIn.parsed(request.data)
        )
        body = {"number": version.number, "preset": version.preset, "definition": version.definition}
        return Response(body, status=201)


class ProtocolChangesView(APIView):
    @operation(
        "protocol_changes",
        ProtocolChangesOut,
        403,
        404,
        parameters=[
            OpenApiParameter("since", int, description="An earlier version; the one before by default."),
            OpenApiParameter("number", int, description="A later version; the one in force by default."),
        ],
    )
    def get(self, request: Request, slug: str) -> Response:
        """What changed from one version of the protocol to another."""
        study = access.managed_study(request.user, slug)
        params = request.query_params
        new = protocols.version_of(study, params.get("number", ""))
        since = protocols.version_of(study, params.get("since") or str(max(1, new.number - 1)))
        return _changes_response(protocols.protocol_changes(study, new.spec, since=since.spec))

    @operation("try_protocol", ProtocolChangesOut, 400, 403, 404, request=ProtocolToTryIn)
    def post(self, request: Request, slug: str) -> Response:
        """What a protocol would change, and which of it the study's data do not allow. Nothing is stored."""
        study = access.managed_study(request.user, slug)
        new = protocols.parse_definition(ProtocolToTryIn.parsed(request.data)["definition"])
        return _changes_response(protocols.protocol_changes(study, new))


class ProtocolDraftView(APIView):
    @operation("protocol_draft", ProtocolDraftOut, 403, 404)
    def get(self, request: Request, slug: str) -> Response:
        """The draft of the next version; the version in force where nobody has begun one."""
        return Response(
            ProtocolDraftOut(protocol_drafts.draft_of(access.managed_study(request.user, slug))).data
        )

    @operation("save_protocol_draft", ProtocolDraftOut, 400, 403, 404, request=ProtocolDraftIn)
    def put(self, request: Request, slug: str) -> Response:
        """Store a draft, faults and all. Nobody is asked by it before it is published."""
        study = access.managed_study(request.user, slug)
        definition = ProtocolDraftIn.parsed(request.data)["definition"]
        return Response(
            ProtocolDraftOut(protocol_drafts.save_draft(study, definition, actor=request.user)).data
        )

    @operation("discard_protocol_draft", None, 403, 404, status=204)
    def delete(self, request: Request, slug: str) -> Response:
        """Throw the draft away. The version in force stays."""
        protocol_drafts.discard_draft(access.managed_study(request.user, slug), actor=request.user)
        return Response(status=204)


def _changes_response(changes: list[Change]) -> Response:
    rows: list[dict[str, Any]] = [{**asdict(change), "is_allowed": change.is_allowed} for change in changes]
    body = {"allowed": all(change.is_allowed for change in changes), "changes": rows}
    return Response(ProtocolChangesOut(body).data)
