"""What the review desk's endpoints take and give."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from annotation.api.shapes import In
from annotation.models import ReviewCase
from annotation.rules.review import CORRECTABLE, REASONS

MOST_CHARACTERS = 100_000
COMMENT = 5_000


class CorrectionIn(In):
    version_id = serializers.IntegerField(
        help_text="The version that was before the expert; another one since is a conflict."
    )
    texts = serializers.DictField(
        child=serializers.CharField(allow_blank=True, trim_whitespace=False, max_length=MOST_CHARACTERS),
        help_text=f"New texts by field: {', '.join(CORRECTABLE)}. Those that stayed may be left out.",
    )
    reason = serializers.ChoiceField(list(REASONS))
    comment = serializers.CharField(default="", allow_blank=True, max_length=COMMENT)
    drafts = serializers.DictField(
        child=serializers.IntegerField(),
        default=dict,
        help_text="By field, the draft that its text began as.",
    )
    rewrite_answers = serializers.BooleanField(
        default=False, help_text="Ask the systems for answers to the corrected version."
    )


class FineIn(In):
    comment = serializers.CharField(default="", allow_blank=True, max_length=COMMENT)


class WithdrawalIn(In):
    comment = serializers.CharField(max_length=COMMENT)


class ReturnsIn(In):
    to = serializers.ChoiceField(["raters", "pool"])
    judgments = serializers.ListField(
        child=serializers.UUIDField(),
        default=list,
        max_length=100,
        help_text="To raters: the `client_id` of each judgment whose rater should look again.",
    )
    votes = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=20,
        help_text="To the pool: how many more; else as the study has it.",
    )
    comment = serializers.CharField(max_length=COMMENT)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["to"] == "raters" and not attrs["judgments"]:
            raise serializers.ValidationError({"judgments": ["Name at least one judgment."]})
        return attrs


class CaseOut(serializers.Serializer):
    id = serializers.IntegerField()
    state = serializers.ChoiceField(ReviewCase.State.choices)
    decision = serializers.ChoiceField(ReviewCase.Decision.choices, allow_blank=True)


class KeptOut(serializers.Serializer):
    claim_expires_at = serializers.DateTimeField()
