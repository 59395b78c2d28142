"""What the endpoints about a study's models take and give: hints, what scores new items, prompts."""

from __future__ import annotations

from rest_framework import serializers

from annotation.api.shapes import In
from annotation.api.tables import TableField


class HintsIn(In):
    scorer = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=80,
        help_text="A scorer's name or the digest of a version; empty shows raters nothing.",
    )
    withheld = serializers.FloatField(
        required=False, help_text="Share of assignments that it is kept from, drawn by rater and task."
    )


class HintsOut(serializers.Serializer):
    scorer = serializers.CharField()
    withheld = serializers.FloatField()
    offered = serializers.ListField(
        child=serializers.CharField(),
        help_text="Versions, as name@digest, that say something of what the study asks; the newest first.",
    )


class PrescoreIn(In):
    scorer = serializers.CharField(max_length=60, help_text="A name from …/scorers/.")
    options = TableField(default=dict, help_text="That scorer's settings.")


class PrescoreRowOut(serializers.Serializer):
    number = serializers.IntegerField(help_text="Its place in the list.")
    scorer = serializers.CharField()
    options = serializers.DictField()


class PrescoreOut(serializers.Serializer):
    results = PrescoreRowOut(many=True)


class PrescoreRemovalIn(In):
    scorer = serializers.CharField(
        max_length=60, help_text="Whose place it is: it may be another's by now, and stays then."
    )


class PromptsIn(In):
    definition = TableField(
        help_text='A prompt file as an object: {"source": …, "system": …, "questions": {set: {name: text}}}.'
    )


class PromptsOut(serializers.Serializer):
    """The prompts of one family of scorers."""

    family = serializers.CharField()
    own = serializers.BooleanField(help_text="Whether they are the study's, or those that come along.")
    definition = serializers.DictField(allow_null=True, help_text="Null where none come along.")


class PromptFamiliesOut(serializers.Serializer):
    results = PromptsOut(many=True)
