"""What a rater gets to see of a vote of their own."""

from __future__ import annotations

from rest_framework import serializers

from annotation.api.rating_shapes import AssignmentOut


class AnswerOut(serializers.Serializer):
    question = serializers.CharField()
    position = serializers.IntegerField(required=False)
    choice = serializers.CharField(required=False)
    value = serializers.FloatField(required=False)
    confidence = serializers.FloatField(required=False)
    text = serializers.CharField(required=False)


class GivenOut(serializers.Serializer):
    assignment = AssignmentOut()
    client_id = serializers.UUIDField()
    revision = serializers.IntegerField()
    answers = AnswerOut(many=True)
    codes = serializers.ListField(child=serializers.CharField())
    comment = serializers.CharField()
    telemetry = serializers.DictField(
        allow_null=True, help_text="The event log that came with it: a change may go on from there."
    )
    submitted_at = serializers.DateTimeField()
    changeable_until = serializers.DateTimeField(
        allow_null=True,
        help_text="Until then …/revisions/ takes another answer; null while an expert waits for one.",
    )
