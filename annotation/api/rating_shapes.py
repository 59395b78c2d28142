"""What the rating endpoints take and give. Input shapes only check form; what an answer means is a rule."""

from __future__ import annotations

import json
import re
from typing import Any

from rest_framework import serializers

from annotation.api.shapes import In

# A NUL as JSON writes it; after an escaped backslash it is only text that looks like one.
NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


class NextIn(In):
    holding = serializers.ListField(child=serializers.UUIDField(), max_length=10, default=list)


class NumberField(serializers.FloatField):
    """A JSON number. REST framework would also take the text "4", and true for 1."""

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool) or not isinstance(data, int | float):
            self.fail("invalid")
        return float(super().to_internal_value(data))


class AnswerIn(serializers.Serializer):
    question = serializers.CharField(max_length=40)
    position = serializers.IntegerField(required=False, min_value=0, max_value=25)
    choice = serializers.ChoiceField(["A", "B", "tie", "both_bad"], required=False)
    value = NumberField(required=False)
    confidence = NumberField(required=False)
    text = serializers.CharField(required=False, allow_blank=True, max_length=20_000)


class JudgmentIn(In):
    client_id = serializers.UUIDField(
        help_text="Made by the client, once per vote; repeats with it are harmless."
    )
    answers = AnswerIn(many=True, max_length=200)
    codes = serializers.ListField(child=serializers.CharField(max_length=16), default=list, max_length=50)
    comment = serializers.CharField(default="", allow_blank=True, max_length=10_000)
    telemetry = serializers.DictField(
        required=False,
        help_text=(
            "What the browser observed, at most 4096 bytes. `heard`: by clip, the stretches that sounded, in seconds "
            "([[0, 4.8], [6, 7.2]]); `switches`: how often between candidates. These two are checked; the rest is kept."
        ),
    )

    def validate_telemetry(self, telemetry: dict[str, Any]) -> dict[str, Any]:
        """Not everything that parses as JSON can be stored: PostgreSQL takes no NUL, half characters or infinity."""
        try:
            text = json.dumps(telemetry, ensure_ascii=False, allow_nan=False)
            text.encode()
        except (ValueError, RecursionError):
            raise serializers.ValidationError("This event log cannot be stored as JSON.") from None
        if NUL.search(text):
            raise serializers.ValidationError("Null characters are not allowed.")
        return telemetry


class SkipIn(In):
    reason = serializers.CharField(max_length=40)
    comment = serializers.CharField(default="", allow_blank=True, max_length=2000)


class ClipOut(serializers.Serializer):
    name = serializers.CharField(help_text="a, b, … for candidates; reference or recording")
    duration = serializers.FloatField(help_text="Seconds")
    channels = serializers.IntegerField()
    samples = serializers.IntegerField(help_text="Its exact length, at 48 kHz")
    peaks = serializers.CharField(help_text="Base64: signed bytes, lowest and highest per column")
    url = serializers.CharField(
        help_text="Where its sound is, for an hour; fetch the assignment again for a new link"
    )
    parts = serializers.ListField(
        child=serializers.IntegerField(),
        help_text="Where in the bytes behind `url` each part ends: FLAC files of 2.4 s, the last maybe shorter",
    )
    gain_db = serializers.FloatField(help_text="Play it with this gain, and with no other between clips.")
    must_hear = serializers.FloatField(
        help_text="Seconds of it to hear before the vote; 0 where none must be."
    )
    spectrogram = serializers.CharField(
        required=False, help_text="Where its spectrogram is, in a study that shows them"
    )


class ContentOut(serializers.Serializer):
    field = serializers.CharField()
    text = serializers.CharField(required=False)
    clip = ClipOut(required=False)


class CandidateOut(serializers.Serializer):
    label = serializers.CharField()
    text = serializers.CharField(required=False)
    clip = ClipOut(required=False)


class ListeningOut(serializers.Serializer):
    fade_ms = serializers.IntegerField(help_text="Of a switch between clips.")
    min_switches = serializers.IntegerField(help_text="Between candidates, before the vote.")
    instruction_seconds = serializers.FloatField(help_text="On screen before the clips may be played.")
    break_minutes = serializers.IntegerField(help_text="Of work until a break is suggested; 0 for never.")
    stop_minutes = serializers.IntegerField(help_text="Of work until no further task is shown; 0 for never.")
    change_minutes = serializers.IntegerField(help_text="In which a vote may be changed; 0 for never.")


class HintOut(serializers.Serializer):
    """What a model expects people to answer to one question."""

    question = serializers.CharField()
    side = serializers.ChoiceField(
        ["A", "B"], required=False, allow_null=True, help_text="Of a preference; null where it is even."
    )
    percent = serializers.IntegerField(required=False, help_text="The chance of that side, 50 to 99.")
    value = serializers.FloatField(required=False, help_text="Of a rating.")
    values = serializers.ListField(
        child=serializers.FloatField(allow_null=True),
        required=False,
        help_text="By position, where each candidate is rated.",
    )


class AssignmentOut(serializers.Serializer):
    id = serializers.UUIDField()
    protocol_version = serializers.IntegerField(help_text="The version these questions belong to.")
    expires_at = serializers.DateTimeField()
    content = ContentOut(many=True)
    candidates = CandidateOut(many=True)
    listening = ListeningOut()
    note = serializers.CharField(
        required=False, help_text="What an expert who asks for more judgments of this task says to look at."
    )
    hint = HintOut(
        many=True,
        required=False,
        help_text="In a study that shows what a model says, and where it was not drawn to be kept from this rater.",
    )


class ProgressOut(serializers.Serializer):
    done = serializers.IntegerField()
    tasks = serializers.IntegerField()


class NextOut(serializers.Serializer):
    assignment = AssignmentOut(allow_null=True)
    progress = ProgressOut()


class ProtocolOut(serializers.Serializer):
    number = serializers.IntegerField()
    preset = serializers.CharField()
    definition = serializers.JSONField()


class HeartbeatOut(serializers.Serializer):
    expires_at = serializers.DateTimeField()


class JudgmentOut(serializers.Serializer):
    client_id = serializers.UUIDField()
    surplus = serializers.BooleanField()
