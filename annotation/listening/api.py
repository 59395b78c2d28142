"""Clips, spectrograms and listening checks over the API. The right answers of a check never leave the server."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from django.http import HttpResponse, StreamingHttpResponse
from drf_spectacular.utils import OpenApiParameter, OpenApiTypes, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access
from annotation.api import downloads
from annotation.api.authentication import Scope
from annotation.api.serializers import In, Method, operation, problem_responses
from annotation.audio.check_sounds import intervals
from annotation.listening import checks, signed_clips, spectrograms, study_clips
from annotation.listening.rules.checks import KINDS, is_due
from annotation.listening.rules.coverage import ListeningRules
from annotation.models import ListeningCheck

ClipResponse = HttpResponse | StreamingHttpResponse


def clip_operation(operation_id: str) -> Callable[[Method], Method]:
    """The schema of an endpoint that plays a clip by a signed link."""
    return extend_schema(
        operation_id=operation_id,
        parameters=[
            OpenApiParameter("until", str, required=True, description="As in the clip's `url`."),
            OpenApiParameter("signature", str, required=True, description="As in the clip's `url`."),
        ],
        responses={
            (200, "audio/flac"): OpenApiTypes.BINARY,
            (206, "audio/flac"): OpenApiTypes.BINARY,
            416: None,
            **problem_responses(403, 404, 410),
        },
    )


def send_clip(request: Request, shown: signed_clips.ShownTask, name: str) -> ClipResponse:
    """The clip of what is shown, in the range asked for. Raises NotFound where the link is not signed for it."""
    until, signature = (request.query_params.get(part, "") for part in ("until", "signature"))
    clip = signed_clips.open_clip(shown, name, until=until, signature=signature)
    return downloads.send_range(request._request, clip, content_type="audio/flac")


class ClipView(APIView):
    throttle_classes = []

    @clip_operation("clip")
    def get(self, request: Request, assignment_id: uuid.UUID, name: str) -> ClipResponse:
        """The sound of one part of an assignment, as the `url` in its briefing names it. Supports ranges.

        The bytes are FLAC files of 2.4 seconds each, one after another; `parts` in the briefing says where each ends.
        """
        return send_clip(request, access.assignment_of(request.user, assignment_id), name)


class StudyClipOut(serializers.Serializer):
    """A clip as the page's player takes it; clips of one `group` share their position."""

    name = serializers.CharField()
    label = serializers.CharField(help_text="The system, of a candidate; else `reference` or `recording`.")
    duration = serializers.FloatField()
    samples = serializers.IntegerField()
    peaks = serializers.CharField(help_text="Base64: the lowest and the highest sample of each stretch.")
    url = serializers.CharField()
    parts = serializers.ListField(child=serializers.IntegerField(), help_text="Where each part ends.")
    gain_db = serializers.FloatField()
    group = serializers.CharField()
    switches = serializers.BooleanField()


class StudyClipsOut(serializers.Serializer):
    clips = StudyClipOut(many=True)


class TaskClipsView(APIView):
    @operation("task_clips", StudyClipsOut, 403, 404)
    def get(self, request: Request, slug: str, task_id: int) -> Response:
        """What a task plays, with the systems' names; for those who run the study."""
        task = access.task_of(request.user, slug, task_id)
        return Response({"clips": study_clips.task_clips(task.study, task)})


class ItemClipsView(APIView):
    @operation("item_clips", StudyClipsOut, 403, 404)
    def get(self, request: Request, slug: str, item_id: int) -> Response:
        """What the current version of an item plays, with the systems' names; for those who run the study."""
        item = access.item_of(request.user, slug, item_id)
        version = item.current_version
        clips = [] if version is None else study_clips.version_clips(item.study, version)
        return Response({"clips": clips})


class StudyClipView(APIView):
    throttle_classes = []

    @extend_schema(
        operation_id="study_clip",
        responses={
            (200, "audio/flac"): OpenApiTypes.BINARY,
            (206, "audio/flac"): OpenApiTypes.BINARY,
            416: None,
            **problem_responses(403, 404),
        },
    )
    def get(self, request: Request, slug: str, clip_id: int) -> ClipResponse:
        """The sound of a clip of the study, for those who run it: FLAC files of 2.4 seconds each, one after another;
        `parts` says where each ends. Supports ranges."""
        clip = study_clips.open_study_clip(access.managed_study(request.user, slug), clip_id)
        return downloads.send_range(request._request, clip, content_type="audio/flac")


class SpectrogramView(APIView):
    throttle_classes = []

    @extend_schema(
        operation_id="spectrogram",
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY, **problem_responses(403, 404)},
    )
    def get(self, request: Request, assignment_id: uuid.UUID, name: str) -> HttpResponse:
        """What sounds when, and how high, in one clip: 128 rows of 800 bytes, 20 kHz (mel) at the top, 255 loudest."""
        assignment = access.assignment_of(request.user, assignment_id)
        rules = ListeningRules.of(assignment.task.study.rules)
        picture = spectrograms.spectrogram_of(assignment, name, rules=rules)
        # Compressed on the way, its size would tell which clip it is of.
        headers = {"Cache-Control": "private, max-age=3600, no-transform"}
        return HttpResponse(picture, content_type="application/octet-stream", headers=headers)


class StandingOut(serializers.Serializer):
    kind = serializers.ChoiceField(ListeningCheck.Kind.choices)
    state = serializers.ChoiceField(["valid", "due", "exhausted"])
    until = serializers.DateTimeField(
        allow_null=True, help_text="When it ends to hold, or may be tried again."
    )
    tries_left = serializers.IntegerField()


class StandingsOut(serializers.Serializer):
    due = serializers.BooleanField(help_text="Whether something has to be done before the next task.")
    checks = StandingOut(many=True)


class CheckStartIn(In):
    kind = serializers.ChoiceField(ListeningCheck.Kind.choices)


class CheckAnswerIn(In):
    trial = serializers.IntegerField(min_value=0, max_value=100)
    choice = serializers.IntegerField(min_value=0, max_value=100)


class CheckOut(serializers.Serializer):
    id = serializers.UUIDField()
    kind = serializers.ChoiceField(ListeningCheck.Kind.choices)
    state = serializers.ChoiceField(ListeningCheck.State.values)
    n_trials = serializers.IntegerField()
    n_choices = serializers.IntegerField()
    n_answered = serializers.IntegerField()
    n_correct = serializers.IntegerField(allow_null=True, help_text="When it is over.")
    intervals = serializers.ListField(
        child=serializers.ListField(child=serializers.FloatField()),
        help_text="From when to when each interval of a trial sounds, in seconds.",
    )


class ChecksView(APIView):
    writes = Scope.RATE

    @operation("listening_checks", StandingsOut, 403, 404)
    def get(self, request: Request, slug: str) -> Response:
        """The listening checks that the study requires, and where the rater stands with each."""
        rater = access.rater_of(request.user, slug)
        found = checks.check_standings(rater.pk, rater.study)
        return Response(StandingsOut({"due": is_due(found), "checks": found}).data)

    @operation("start_listening_check", CheckOut, 400, 403, 404, 409, status=201, request=CheckStartIn)
    def post(self, request: Request, slug: str) -> Response:
        """Start a check, or go on with one begun in the last day."""
        kind = CheckStartIn.parsed(request.data)["kind"]
        return Response(_out(checks.start_check(request.user, slug, kind=kind)), status=201)


class CheckSoundView(APIView):
    throttle_classes = []

    @extend_schema(
        operation_id="listening_check_sound",
        responses={(200, "audio/flac"): OpenApiTypes.BINARY, **problem_responses(403, 404)},
    )
    def get(self, request: Request, check_id: uuid.UUID, trial: int) -> HttpResponse:
        """The sound of one trial, as FLAC. All trials of a kind are of one size."""
        sound = checks.trial_sound(request.user, check_id, trial=trial)
        return HttpResponse(sound, content_type="audio/flac", headers={"Cache-Control": "no-store"})


class CheckAnswerView(APIView):
    writes = Scope.RATE

    @operation("answer_listening_check", CheckOut, 400, 403, 404, 409, request=CheckAnswerIn)
    def post(self, request: Request, check_id: uuid.UUID) -> Response:
        """Answer the next trial; the last one decides. Safe to repeat."""
        answer = CheckAnswerIn.parsed(request.data)
        return Response(_out(checks.answer_trial(request.user, check_id, **answer)))


def _out(check: ListeningCheck) -> dict[str, Any]:
    kind = KINDS[check.kind]
    shown = {
        "id": check.pk,
        "kind": check.kind,
        "state": check.state,
        "n_trials": kind.n_trials,
        "n_choices": kind.n_choices,
        "n_answered": checks.n_answered_trials(check),
        "n_correct": check.n_correct,
        "intervals": intervals(check.kind),
    }
    return dict(CheckOut(shown).data)
