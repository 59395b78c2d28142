"""What the endpoints about a study's content take and give. All of it is for those who run the study."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from annotation.api.paging import PageOut
from annotation.api.shapes import In
from annotation.models import Answer, Exclusion, Item, Judgment

CHOICES = {
    Answer.Choice.FIRST: "first",
    Answer.Choice.SECOND: "second",
    Answer.Choice.TIE: "tie",
    Answer.Choice.BOTH_BAD: "both_bad",
}


class ExclusionIn(In):
    """Which judgments: those named, or all of one rater."""

    action = serializers.ChoiceField(Exclusion.Action.choices)
    client_ids = serializers.ListField(
        child=serializers.UUIDField(), required=False, min_length=1, max_length=1000
    )
    rater = serializers.CharField(required=False, max_length=40, help_text="A pseudonym.")
    reason = serializers.CharField(max_length=40, help_text="A short word to group by, such as `careless`.")
    comment = serializers.CharField(default="", allow_blank=True, max_length=10_000)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("client_ids" in attrs) == ("rater" in attrs):
            raise serializers.ValidationError("Say which judgments: give either client_ids or rater.")
        return attrs


class ExclusionOut(serializers.Serializer):
    changed = serializers.IntegerField()
    unchanged = serializers.IntegerField(help_text="Judgments that were left as they were.")
    overlap_grown = serializers.IntegerField(
        help_text="Tasks that had been filled meanwhile and now hold one judgment more than was asked for."
    )
    kept_out = serializers.IntegerField(
        help_text="Of the unchanged, those that stay out because their item was corrected or withdrawn."
    )


class ExclusionMarkOut(serializers.Serializer):
    """One mark; the last one of a judgment stands."""

    id = serializers.IntegerField()
    client_id = serializers.UUIDField(help_text="Of the judgment.")
    rater = serializers.CharField(allow_null=True, help_text="Pseudonym of who gave the judgment.")
    action = serializers.ChoiceField(Exclusion.Action.choices)
    reason = serializers.CharField()
    comment = serializers.CharField()
    actor = serializers.CharField(
        source="actor_name",
        allow_null=True,
        help_text="The name of whoever runs the study or is no rater of it, a rater's pseudonym; null for a rater who "
        "has withdrawn, and where no account did it.",
    )
    created_at = serializers.DateTimeField()


class ExclusionMarkPageOut(PageOut):
    results = ExclusionMarkOut(many=True)


class CandidateRowOut(serializers.Serializer):
    system = serializers.CharField(source="system.name")
    take = serializers.IntegerField()
    text = serializers.CharField()
    duration_s = serializers.FloatField(source="clip.duration_s", default=None, allow_null=True)


class ItemOut(serializers.Serializer):
    """An item with its current version."""

    id = serializers.IntegerField()
    external_id = serializers.CharField()
    state = serializers.ChoiceField(Item.State.choices)
    strata = serializers.DictField()
    version = serializers.IntegerField(source="current_version.number", default=None, allow_null=True)
    prompt = serializers.CharField(source="current_version.prompt", default="")
    lyrics = serializers.CharField(source="current_version.lyrics", default="")
    question = serializers.CharField(source="current_version.question", default="")
    reference = serializers.CharField(source="current_version.reference", default="")
    rationale = serializers.CharField(source="current_version.rationale", default="")
    transcript = serializers.CharField(source="current_version.transcript", default="")
    candidates = CandidateRowOut(source="current_version.candidates.all", many=True, default=[])


class ItemPageOut(PageOut):
    results = ItemOut(many=True)


class AnswerRowOut(serializers.Serializer):
    question = serializers.CharField(source="question.key")
    system = serializers.CharField(
        source="candidate.system.name", default=None, allow_null=True, help_text="Where asked per candidate."
    )
    choice = serializers.SerializerMethodField(
        help_text="first, second (of `systems`, whatever the side shown), tie or both_bad"
    )
    value = serializers.FloatField(allow_null=True)
    confidence = serializers.FloatField(allow_null=True)
    text = serializers.CharField()

    def get_choice(self, answer: Answer) -> str | None:
        return None if answer.choice is None else CHOICES[Answer.Choice(answer.choice)]


class JudgmentRowOut(serializers.Serializer):
    client_id = serializers.UUIDField()
    item = serializers.CharField()
    task = serializers.CharField(source="task.external_id")
    systems = serializers.SerializerMethodField(help_text="In canonical order.")
    rater = serializers.CharField(
        source="rater_name", allow_null=True, help_text="Pseudonym; null for unnamed imported raters."
    )
    origin = serializers.SerializerMethodField()
    protocol_version = serializers.IntegerField(source="protocol_number")
    revision = serializers.IntegerField()
    effective = serializers.BooleanField()
    excluded = serializers.BooleanField()
    surplus = serializers.BooleanField()
    presentation = serializers.ListField(
        child=serializers.IntegerField(), allow_null=True, help_text="Indexes into `systems`, as shown."
    )
    codes = serializers.ListField(child=serializers.CharField())
    comment = serializers.CharField()
    started_at = serializers.DateTimeField(allow_null=True)
    submitted_at = serializers.DateTimeField()
    answers = AnswerRowOut(many=True)

    def get_systems(self, judgment: Judgment) -> list[str]:
        return [slot.candidate.system.name for slot in judgment.task.slots.all()]

    def get_origin(self, judgment: Judgment) -> str:
        return Judgment.Origin(judgment.origin).name.lower()


class JudgmentPageOut(PageOut):
    results = JudgmentRowOut(many=True)


class AuditEventOut(serializers.Serializer):
    id = serializers.IntegerField()
    at = serializers.DateTimeField()
    actor = serializers.CharField(source="actor_name", allow_null=True)
    action = serializers.CharField()
    subject = serializers.CharField()
    data = serializers.DictField()


class AuditPageOut(PageOut):
    results = AuditEventOut(many=True)


class SiteAuditEventOut(AuditEventOut):
    study = serializers.CharField(
        source="study_slug", allow_null=True, help_text="Null where it is of none, as a sign-in is."
    )


class SiteAuditPageOut(PageOut):
    results = SiteAuditEventOut(many=True)
