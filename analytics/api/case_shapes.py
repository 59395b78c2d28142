"""A review case in full, as its desk shows it once its expert has judged; and an item's history."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from analytics.reports.case_votes import TaskVotes, Vote
from annotation.api.content_shapes import AnswerRowOut, CandidateRowOut
from annotation.api.queue_shapes import CaseRowOut
from annotation.models import Judgment
from annotation.rules.review import CORRECTABLE


class ReasonOut(serializers.Serializer):
    rule = serializers.CharField()
    evidence = serializers.DictField()
    fired_at = serializers.DateTimeField()


class VoteOut(serializers.Serializer):
    """One effective judgment of a task."""

    client_id = serializers.UUIDField(source="judgment.client_id")
    rater = serializers.SerializerMethodField(help_text="Pseudonym; null for unnamed imported raters.")
    is_experts = serializers.BooleanField(help_text="An expert's own, given blind and counted nowhere.")
    submitted_at = serializers.DateTimeField(source="judgment.submitted_at")
    excluded = serializers.BooleanField(source="judgment.excluded")
    surplus = serializers.BooleanField(source="judgment.surplus")
    returnable = serializers.SerializerMethodField(help_text="Its rater can be asked to look again.")
    codes = serializers.ListField(source="judgment.codes", child=serializers.CharField())
    comment = serializers.CharField(source="judgment.comment")
    answers = AnswerRowOut(many=True)

    def get_rater(self, vote: Vote) -> str | None:
        return vote.judgment.rater.pseudonym if vote.judgment.rater else None

    def get_returnable(self, vote: Vote) -> bool:
        judgment = vote.judgment
        rated = judgment.origin == Judgment.Origin.RATED and judgment.assignment_id is not None
        return rated and not judgment.excluded


class CaseScoreOut(serializers.Serializer):
    scorer = serializers.CharField(source="scorer.key")
    digest = serializers.CharField(source="scorer.digest")
    output = serializers.CharField()
    slot = serializers.IntegerField(help_text="Of the candidate it is of.")
    other_slot = serializers.IntegerField(allow_null=True, help_text="Of the other one of a pair.")
    value = serializers.FloatField(allow_null=True)
    distribution = serializers.DictField(allow_null=True)


class CaseTaskOut(serializers.Serializer):
    """A task of the case's version; candidates in canonical order, by slot."""

    task = serializers.CharField()
    candidates = CandidateRowOut(many=True)
    votes = VoteOut(many=True)
    scores = CaseScoreOut(many=True)


class CaseReturnOut(serializers.Serializer):
    rater = serializers.CharField(source="rater.pseudonym", default=None, allow_null=True)
    n_wanted = serializers.IntegerField(help_text="Of a return to the pool.")
    comment = serializers.CharField()
    state = serializers.CharField()
    reply = serializers.CharField()
    created_at = serializers.DateTimeField()
    closed_at = serializers.DateTimeField(allow_null=True)


class CaseInFullOut(CaseRowOut):
    """`known`: whether you may know what others said. Where not, everything from `version` on is null: judge first."""

    known = serializers.BooleanField()
    version = serializers.IntegerField(allow_null=True)
    version_id = serializers.IntegerField(allow_null=True, help_text="What a correction says it is about.")
    is_past = serializers.BooleanField(allow_null=True, help_text="The item has a later version by now.")
    texts = serializers.DictField(
        child=serializers.CharField(),
        allow_null=True,
        help_text=f"Of {', '.join(CORRECTABLE)}, what there is.",
    )
    reasons = ReasonOut(many=True, allow_null=True)
    tasks = CaseTaskOut(many=True, allow_null=True)
    returns = CaseReturnOut(many=True, allow_null=True)
    comment = serializers.CharField(allow_null=True, help_text="That came with its decision.")


class HistoryEntryOut(serializers.Serializer):
    """`about` are plain facts, `rows` what there are several of; their fields depend on the kind."""

    at = serializers.DateTimeField()
    until = serializers.DateTimeField(allow_null=True)
    kind = serializers.CharField()
    version = serializers.IntegerField()
    who = serializers.CharField()
    case = serializers.IntegerField(allow_null=True)
    about = serializers.DictField()
    rows = serializers.ListField(child=serializers.JSONField())
    n = serializers.IntegerField(help_text="Rows that have nothing to show of their own.")


class ItemHistoryOut(serializers.Serializer):
    external_id = serializers.CharField()
    hides_votes = serializers.BooleanField(help_text="Something is left out that you may not know yet.")
    n_votes_left_out = serializers.IntegerField(help_text="There are more votes than these.")
    entries = HistoryEntryOut(many=True)


def task_body(found: TaskVotes) -> dict[str, Any]:
    slots = {candidate.pk: slot for slot, candidate in enumerate(found.candidates)}
    for score in found.scores:
        score.slot = slots[score.candidate_id]  # type: ignore[attr-defined]
        score.other_slot = slots.get(score.other_id or 0)  # type: ignore[attr-defined]
    return {
        "task": found.task.external_id,
        "candidates": found.candidates,
        "votes": found.votes,
        "scores": found.scores,
    }
