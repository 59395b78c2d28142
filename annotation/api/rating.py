"""The rater's side: fetch the next task, play its clips, answer, skip, give back."""

from __future__ import annotations

import uuid
from dataclasses import asdict
from typing import Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, OpenApiTypes, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access
from annotation.api import ranges
from annotation.api.rating_shapes import (
    AssignmentOut,
    HeartbeatOut,
    JudgmentIn,
    JudgmentOut,
    NextIn,
    NextOut,
    ProtocolOut,
    SkipIn,
)
from annotation.api.revision_shapes import GivenOut
from annotation.api.scopes import Scope
from annotation.api.shapes import problems
from annotation.errors import Conflict, NotFound
from annotation.models import Assignment
from annotation.services import briefings, judgments, leases, revisions, sounds, spectrograms
from annotation.services.protocols import loaded


class NextView(APIView):
    writes = Scope.RATE

    @extend_schema(
        operation_id="next_task",
        request=NextIn,
        responses={200: NextOut, **problems(400, 403, 404, 409)},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Lease the next task. `assignment` is null at the end of the queue."""
        body = NextIn.parsed(request.data)
        rater, lease = leases.lease_next(request.user, slug, holding=body["holding"])
        return Response(
            {
                "assignment": None if lease is None else briefings.brief(lease),
                "progress": {"done": rater.n_judgments, "tasks": rater.n_tasks},
            }
        )


class ProtocolView(APIView):
    @extend_schema(
        operation_id="study_protocol",
        parameters=[
            OpenApiParameter("number", int, description="An earlier version; the current one by default.")
        ],
        responses={200: ProtocolOut, **problems(403, 404)},
    )
    def get(self, request: Request, slug: str) -> Response:
        """What this study asks: questions, scales, codes, glossary, guidelines."""
        study = access.study_of(request.user, slug).study
        version = study.protocol_version
        if number := request.query_params.get("number"):
            version = study.protocol_versions.filter(number=number).first() if number.isdecimal() else None
        if version is None:
            raise NotFound
        protocol = loaded(version.pk)
        return Response(
            {"number": protocol.number, "preset": version.preset, "definition": version.definition}
        )


class AssignmentView(APIView):
    @extend_schema(operation_id="assignment", responses={200: AssignmentOut, **problems(403, 404, 409)})
    def get(self, request: Request, assignment_id: uuid.UUID) -> Response:
        """An assignment that can still be answered, exactly as it was first shown, with new links to its clips."""
        assignment = access.assignment_of(request.user, assignment_id)
        if assignment.state not in (Assignment.State.OPEN, Assignment.State.EXPIRED):
            raise Conflict("This task is not open any more.", code="closed")
        return Response(briefings.brief(assignment))


class HeartbeatView(APIView):
    writes = Scope.RATE

    @extend_schema(
        operation_id="heartbeat",
        request=None,
        responses={200: HeartbeatOut, **problems(403, 404, 409)},
    )
    def post(self, request: Request, assignment_id: uuid.UUID) -> Response:
        """Keep an open assignment while its rater is at work."""
        return Response({"expires_at": leases.extend(request.user, assignment_id).expires_at})


class JudgmentView(APIView):
    writes = Scope.RATE

    @extend_schema(operation_id="own_judgment", responses={200: GivenOut, **problems(403, 404)})
    def get(self, request: Request, assignment_id: uuid.UUID) -> Response:
        """What you answered, as it was shown to you, with the task it is about."""
        given = revisions.given(request.user, assignment_id)
        assignment = access.assignment_of(request.user, assignment_id)
        return Response({**asdict(given), "assignment": briefings.brief(assignment)})

    @extend_schema(
        operation_id="submit_judgment",
        request=JudgmentIn,
        responses={
            200: OpenApiResponse(JudgmentOut, "Stored before: the first result again."),
            201: OpenApiResponse(JudgmentOut, "Stored, and committed."),
            **problems(400, 403, 404, 409),
        },
    )
    def post(self, request: Request, assignment_id: uuid.UUID) -> Response:
        """Submit the answers to one assignment. Safe to repeat with the same `client_id`."""
        submission = judgments.Submission(**JudgmentIn.parsed(request.data))
        return _receipt(judgments.submit(request.user, assignment_id, submission))


class RevisionsView(APIView):
    writes = Scope.RATE

    @extend_schema(
        operation_id="revise_judgment",
        request=JudgmentIn,
        responses={
            200: OpenApiResponse(JudgmentOut, "Stored before: the first result again."),
            201: OpenApiResponse(
                JudgmentOut, "Stored, and committed. It stands in the place of the one before."
            ),
            **problems(400, 403, 404, 409),
        },
    )
    def post(self, request: Request, assignment_id: uuid.UUID) -> Response:
        """Change your answers while the study lets you. Safe to repeat with the same `client_id`."""
        submission = judgments.Submission(**JudgmentIn.parsed(request.data))
        return _receipt(revisions.revise(request.user, assignment_id, submission))


def _receipt(receipt: judgments.Receipt) -> Response:
    body: dict[str, Any] = {"client_id": str(receipt.client_id), "surplus": receipt.surplus}
    return Response(body, status=200 if receipt.replayed else 201)


class SkipView(APIView):
    writes = Scope.RATE

    @extend_schema(
        operation_id="skip_task",
        request=SkipIn,
        responses={204: None, **problems(400, 403, 404, 409)},
    )
    def post(self, request: Request, assignment_id: uuid.UUID) -> Response:
        """Decline a task, with one of the protocol's reasons. It will not come back to this rater."""
        body = SkipIn.parsed(request.data)
        leases.skip(request.user, assignment_id, reason=body["reason"], comment=body["comment"])
        return Response(status=204)


class GiveBackView(APIView):
    writes = Scope.RATE

    @extend_schema(operation_id="give_back_task", request=None, responses={204: None, **problems(403, 404)})
    def post(self, request: Request, assignment_id: uuid.UUID) -> Response:
        """Return an unanswered task to the queue, when a rater stops for now."""
        leases.give_back(request.user, assignment_id)
        return Response(status=204)


class ClipView(APIView):
    throttle_classes = []

    @extend_schema(
        operation_id="clip",
        parameters=[
            OpenApiParameter("until", str, required=True, description="As in the clip's `url`."),
            OpenApiParameter("signature", str, required=True, description="As in the clip's `url`."),
        ],
        responses={
            (200, "audio/flac"): OpenApiTypes.BINARY,
            (206, "audio/flac"): OpenApiTypes.BINARY,
            416: None,
            **problems(403, 404, 410),
        },
    )
    def get(
        self, request: Request, assignment_id: uuid.UUID, name: str
    ) -> HttpResponse | StreamingHttpResponse:
        """The sound of one part of an assignment, as the `url` in its briefing names it. Supports ranges.

        The bytes are FLAC files of 2.4 seconds each, one after another; `parts` in the briefing says where each ends.
        """
        assignment = access.assignment_of(request.user, assignment_id)
        clip = sounds.open_clip(
            assignment,
            name,
            until=request.query_params.get("until", ""),
            signature=request.query_params.get("signature", ""),
        )
        django_request: HttpRequest = request._request
        return ranges.send(django_request, clip, content_type="audio/flac")


class SpectrogramView(APIView):
    throttle_classes = []

    @extend_schema(
        operation_id="spectrogram",
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY, **problems(403, 404)},
    )
    def get(self, request: Request, assignment_id: uuid.UUID, name: str) -> HttpResponse:
        """What sounds when, and how high, in one clip: 128 rows of 800 bytes, 20 kHz (mel) at the top, 255 loudest."""
        picture = spectrograms.picture(access.assignment_of(request.user, assignment_id), name)
        # Compressed on the way, its size would tell which clip it is of.
        headers = {"Cache-Control": "private, max-age=3600, no-transform"}
        return HttpResponse(picture, content_type="application/octet-stream", headers=headers)
