"""The rater's listening checks: which are due, their sounds, their answers. What is right never leaves the server."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiTypes, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access
from annotation.api.scopes import Scope
from annotation.api.shapes import In, problems
from annotation.audio.check_sounds import intervals
from annotation.models import ListeningCheck
from annotation.rules.listening_checks import KINDS, is_due
from annotation.services import check_standings, listening_checks


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

    @extend_schema(operation_id="listening_checks", responses={200: StandingsOut, **problems(403, 404)})
    def get(self, request: Request, slug: str) -> Response:
        """The listening checks that the study requires, and where the rater stands with each."""
        rater = access.rater_of(request.user, slug)
        found = check_standings.standings(rater.pk, rater.study)
        return Response(StandingsOut({"due": is_due(found), "checks": found}).data)

    @extend_schema(
        operation_id="start_listening_check",
        request=CheckStartIn,
        responses={201: CheckOut, **problems(400, 403, 404, 409)},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Start a check, or go on with one begun in the last day."""
        kind = CheckStartIn.parsed(request.data)["kind"]
        return Response(_out(listening_checks.start(request.user, slug, kind=kind)), status=201)


class CheckSoundView(APIView):
    throttle_classes = []

    @extend_schema(
        operation_id="listening_check_sound",
        responses={(200, "audio/flac"): OpenApiTypes.BINARY, **problems(403, 404)},
    )
    def get(self, request: Request, check_id: uuid.UUID, trial: int) -> HttpResponse:
        """The sound of one trial, as FLAC. All trials of a kind are of one size."""
        sound = listening_checks.sound(request.user, check_id, trial=trial)
        return HttpResponse(sound, content_type="audio/flac", headers={"Cache-Control": "no-store"})


class CheckAnswerView(APIView):
    writes = Scope.RATE

    @extend_schema(
        operation_id="answer_listening_check",
        request=CheckAnswerIn,
        responses={200: CheckOut, **problems(400, 403, 404, 409)},
    )
    def post(self, request: Request, check_id: uuid.UUID) -> Response:
        """Answer the next trial; the last one decides. Safe to repeat."""
        answer = CheckAnswerIn.parsed(request.data)
        return Response(_out(listening_checks.answer(request.user, check_id, **answer)))


def _out(check: ListeningCheck) -> dict[str, Any]:
    kind = KINDS[check.kind]
    shown = {
        "id": check.pk,
        "kind": check.kind,
        "state": check.state,
        "n_trials": kind.n_trials,
        "n_choices": kind.n_choices,
        "n_answered": listening_checks.n_answered(check),
        "n_correct": check.n_correct,
        "intervals": intervals(check.kind),
    }
    return dict(CheckOut(shown).data)
