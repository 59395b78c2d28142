"""Review endpoints: a case in full, once its expert has judged blind, and an item's history."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from analytics.review import case_votes
from analytics.review.case_votes import CaseVote, TaskVotes
from analytics.review.item_history import HistoryEntry, history_json, item_history
from annotation import access
from annotation.api.serializers import Out, operation
from annotation.items.api import CandidateRowOut
from annotation.models import CaseReason, Judgment, Return, ReviewCase
from annotation.rating.judgments_api import AnswerRowOut
from annotation.review import blind_judgments, queue
from annotation.review.api import CaseRowOut
from annotation.review.rules import CORRECTABLE_FIELDS


class ReasonOut(Out):
    shape = CaseReason
    shown = "rule evidence fired_at"


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

    def get_rater(self, vote: CaseVote) -> str | None:
        return vote.judgment.rater.pseudonym if vote.judgment.rater else None

    def get_returnable(self, vote: CaseVote) -> bool:
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


class CaseReturnOut(Out):
    shape = Return
    shown = "rater n_wanted comment state reply created_at closed_at"
    notes = {"n_wanted": "Of a return to the pool."}
    rater = serializers.CharField(source="rater.pseudonym", default=None, allow_null=True)
    state = serializers.CharField()


class CaseInFullOut(CaseRowOut):
    """`known`: whether you may know what others said. Where not, everything from `version` on is null: judge first."""

    known = serializers.BooleanField()
    version = serializers.IntegerField(allow_null=True)
    version_id = serializers.IntegerField(allow_null=True, help_text="What a correction says it is about.")
    is_past = serializers.BooleanField(allow_null=True, help_text="The item has a later version by now.")
    texts = serializers.DictField(
        child=serializers.CharField(),
        allow_null=True,
        help_text=f"Of {', '.join(CORRECTABLE_FIELDS)}, what there is.",
    )
    reasons = ReasonOut(many=True, allow_null=True)
    tasks = CaseTaskOut(many=True, allow_null=True)
    returns = CaseReturnOut(many=True, allow_null=True)
    comment = serializers.CharField(allow_null=True, help_text="That came with its decision.")


class HistoryEntryOut(Out):
    """`about` are plain facts, `rows` what there are several of; their fields depend on the kind."""

    shape = HistoryEntry
    shown = "at until kind version who case about rows n"
    notes = {"n": "Rows that have nothing to show of their own."}
    rows = serializers.ListField(child=serializers.JSONField())


class ItemHistoryOut(serializers.Serializer):
    external_id = serializers.CharField()
    hides_votes = serializers.BooleanField(help_text="Something is left out that you may not know yet.")
    n_votes_left_out = serializers.IntegerField(help_text="There are more votes than these.")
    entries = HistoryEntryOut(many=True)


def task_body(task_votes: TaskVotes) -> dict[str, Any]:
    slots = {candidate.pk: slot for slot, candidate in enumerate(task_votes.candidates)}
    for score in task_votes.scores:
        score.slot = slots[score.candidate_id]  # type: ignore[attr-defined]
        score.other_slot = slots.get(score.other_id or 0)  # type: ignore[attr-defined]
    return {
        "task": task_votes.task.external_id,
        "candidates": task_votes.candidates,
        "votes": task_votes.votes,
        "scores": task_votes.scores,
    }


# A review case with what was said of it, and an item's history: under the rules of their pages.


_UNKNOWN = ("version", "version_id", "is_past", "texts", "reasons", "tasks", "returns", "comment")


class CaseView(APIView):
    @operation("case", CaseInFullOut, 403, 404)
    def get(self, request: Request, case_id: int) -> Response:
        """A case: votes, scores and evidence once you have judged it blind, or where you run the study."""
        case = access.case_in_review_queue(request.user, case_id)
        manages = access.study_of(request.user, case.study.slug).manages
        known = manages or blind_judgments.may_see_votes(case, request.user)
        row = vars(queue.queue_row(case, reader=request.user))
        body = {**row, "known": known, **(_detail(case) if known else dict.fromkeys(_UNKNOWN))}
        return Response(CaseInFullOut(body).data)


class ItemHistoryView(APIView):
    @operation("item_history", ItemHistoryOut, 403, 404)
    def get(self, request: Request, slug: str, item_id: int) -> Response:
        """Everything that happened to an item, in order. Experts learn of votes on versions that they have judged."""
        readable = access.item_in_review_queue(request.user, slug, item_id)
        history = item_history(readable.item, votes_up_to=readable.votes_up_to)
        return Response(ItemHistoryOut(history_json(history)).data)


def _detail(case: ReviewCase) -> dict[str, Any]:
    version = case.item_version
    return {
        "version": version.number,
        "version_id": version.pk,
        "is_past": case.item.current_version_id != version.pk,
        "texts": {name: text for name in CORRECTABLE_FIELDS if (text := getattr(version, name))},
        "reasons": case.reasons.order_by("fired_at", "pk"),
        "tasks": [task_body(task) for task in case_votes.votes_on_version(version, first=case.task)],
        "returns": case.returns.select_related("rater").order_by("pk"),
        "comment": case.comment,
    }
