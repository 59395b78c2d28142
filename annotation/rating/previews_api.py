"""Task previews over the API, for those who run a study: a rater's requests and responses; nothing is stored."""

from __future__ import annotations

import uuid

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiTypes, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access
from annotation.api import downloads
from annotation.api.authentication import Scope
from annotation.api.serializers import In, operation, problem_responses
from annotation.errors import Conflict
from annotation.listening import spectrograms
from annotation.listening.api import ClipResponse, clip_operation, send_clip
from annotation.listening.rules.coverage import ListeningRules
from annotation.models import Study
from annotation.rating import previews
from annotation.rating.api import (
    AssignmentOut,
    HeartbeatOut,
    JudgmentIn,
    JudgmentOut,
    NextOut,
    SkipIn,
    receipt_response,
    submission_of,
)
from annotation.rating.examples import EXAMPLE_ID, open_example_clip
from annotation.rating.leases import Lease
from annotation.studies.protocols import load_protocol

PREVIEW_CONFLICT = "This is a preview: the answer was checked and not kept, so there is nothing to change."


class SeenIn(In):
    holding = serializers.ListField(
        child=serializers.UUIDField(), max_length=50, default=list, help_text="The previews seen already."
    )


class _PreviewView(APIView):
    """Nothing is written, so a token that may read may preview."""

    writes = Scope.READ
    # Of the protocol version that is being written: for its author's page, not part of the API.
    draft = False

    def study(self, request: Request, slug: str) -> Study:
        return access.managed_study(request.user, slug)

    def shown(self, request: Request, slug: str, preview_id: uuid.UUID) -> tuple[Study, Lease]:
        study = self.study(request, slug)
        if self.draft and preview_id == EXAMPLE_ID:
            return study, previews.example_preview(study)
        return study, previews.preview_of(study, preview_id, draft=self.draft)


class NextPreviewView(_PreviewView):
    @operation("next_preview", NextOut, 400, 403, 404, request=SeenIn)
    def post(self, request: Request, slug: str) -> Response:
        """The first task not seen yet, as raters would see it. `assignment` is null after the last, or after 20."""
        study = self.study(request, slug)
        seen = SeenIn.parsed(request.data)["holding"]
        progress = {"done": len(seen), "tasks": min(study.n_tasks, previews.MAX_PREVIEWS)}
        shown = previews.next_preview(study, seen=seen, draft=self.draft)
        return Response({"assignment": shown, "progress": progress})


class PreviewView(_PreviewView):
    @operation("preview", AssignmentOut, 403, 404)
    def get(self, request: Request, slug: str, preview_id: uuid.UUID) -> Response:
        """A task as raters would see it, with new links to its clips."""
        study, shown = self.shown(request, slug, preview_id)
        if preview_id == EXAMPLE_ID:
            return Response(previews.example(study))
        return Response(previews.preview_briefing(study, shown))


class PreviewHeartbeatView(_PreviewView):
    @operation("preview_heartbeat", HeartbeatOut, 403, 404, request=None)
    def post(self, request: Request, slug: str, preview_id: uuid.UUID) -> Response:
        """What a rater's page would hear; a preview holds nothing."""
        _, shown = self.shown(request, slug, preview_id)
        return Response({"expires_at": shown.expires_at})


class PreviewJudgmentView(_PreviewView):
    @extend_schema(operation_id="preview_own_judgment", responses=problem_responses(403, 404, 409))
    def get(self, request: Request, slug: str, preview_id: uuid.UUID) -> Response:
        """Always a conflict: nothing was kept."""
        self.shown(request, slug, preview_id)
        raise Conflict(PREVIEW_CONFLICT, code="preview")

    @operation("preview_judgment", JudgmentOut, 400, 403, 404, request=JudgmentIn)
    def post(self, request: Request, slug: str, preview_id: uuid.UUID) -> Response:
        """Check an answer as a rater's would be checked, and keep nothing."""
        study, shown = self.shown(request, slug, preview_id)
        receipt = previews.check_preview_answer(study, shown, submission_of(request))
        return receipt_response(receipt, status=200)


class PreviewSkipView(_PreviewView):
    @operation("preview_skip", None, 400, 403, 404, status=204, request=SkipIn)
    def post(self, request: Request, slug: str, preview_id: uuid.UUID) -> Response:
        """Go on to the next preview."""
        self.shown(request, slug, preview_id)
        SkipIn.parsed(request.data)
        return Response(status=204)


class PreviewGiveBackView(_PreviewView):
    @operation("preview_give_back", None, 403, 404, status=204, request=None)
    def post(self, request: Request, slug: str, preview_id: uuid.UUID) -> Response:
        """Stop looking; a preview holds nothing."""
        self.shown(request, slug, preview_id)
        return Response(status=204)


class PreviewClipView(_PreviewView):
    @clip_operation("preview_clip")
    def get(self, request: Request, slug: str, preview_id: uuid.UUID, name: str) -> ClipResponse:
        """The sound of one part of a preview, as raters would get it. Supports ranges."""
        _, shown = self.shown(request, slug, preview_id)
        if preview_id == EXAMPLE_ID:
            clip = open_example_clip(load_protocol(shown.protocol_version_id).spec, name)
            return downloads.send_range(request._request, clip, content_type="audio/flac")
        return send_clip(request, shown, name)


class PreviewSpectrogramView(_PreviewView):
    @extend_schema(
        operation_id="preview_spectrogram",
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY, **problem_responses(403, 404)},
    )
    def get(self, request: Request, slug: str, preview_id: uuid.UUID, name: str) -> HttpResponse:
        """The spectrogram of one clip of a preview, as raters would get it."""
        study, shown = self.shown(request, slug, preview_id)
        picture = spectrograms.spectrogram_of(shown, name, rules=ListeningRules.of(study.rules))
        return HttpResponse(picture, content_type="application/octet-stream")
