"""Judgments and their exclusions over the API, for those who run the study."""

from __future__ import annotations

from typing import Any

from django.db.models import F, Prefetch
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access
from annotation.api import paging
from annotation.api.paging import page_of
from annotation.api.serializers import In, Out, operation
from annotation.models import Answer, Exclusion, Judgment, TaskCandidate
from annotation.raters.withdrawal import without_withdrawn
from annotation.rating import exclusions
from annotation.rating.api import AnswerEvent

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


class ExclusionMarkOut(Out):
    """One mark; the last one of a judgment stands."""

    shape, shown = Exclusion, "id client_id rater action reason comment actor created_at"
    client_id = serializers.UUIDField(help_text="Of the judgment.")
    rater = serializers.CharField(allow_null=True, help_text="Pseudonym of who gave the judgment.")
    actor = serializers.CharField(
        source="actor_name",
        allow_null=True,
        help_text="The name of whoever runs the study or is no rater of it, a rater's pseudonym; null for a rater who "
        "has withdrawn, and where no account did it.",
    )


class AnswerRowOut(serializers.Serializer):
    question = serializers.CharField(source="question.key")
    system = serializers.CharField(
        source="candidate.system.name", default=None, allow_null=True, help_text="Where asked per candidate."
    )
    choice = serializers.SerializerMethodField(
        help_text="first, second (of `systems`, whatever the side shown), tie or both_bad"
    )
    value = serializers.FloatField(
        allow_null=True, help_text="On the scale; of a choice the option's number, of a ranking the place."
    )
    option = serializers.CharField(allow_null=True, help_text="Of a choice: the option's key.")
    options = serializers.ListField(
        child=serializers.CharField(), allow_null=True, help_text="Of choices: the options' keys."
    )
    events = AnswerEvent(many=True, allow_null=True, help_text="Of events, by time.")
    confidence = serializers.FloatField(allow_null=True)
    text = serializers.CharField()

    def get_choice(self, answer: Answer) -> str | None:
        return None if answer.choice is None else CHOICES[Answer.Choice(answer.choice)]


class JudgmentRowOut(Out):
    shape = Judgment
    shown = """
        client_id item task systems rater origin protocol_version revision effective excluded surplus presentation codes
        comment started_at submitted_at answers
    """
    item = serializers.CharField()
    task = serializers.CharField(source="task.external_id")
    systems = serializers.SerializerMethodField(help_text="In canonical order.")
    rater = serializers.CharField(
        source="rater_name", allow_null=True, help_text="Pseudonym; null for unnamed imported raters."
    )
    origin = serializers.SerializerMethodField()
    protocol_version = serializers.IntegerField(source="protocol_number")
    presentation = serializers.ListField(
        child=serializers.IntegerField(), allow_null=True, help_text="Indexes into `systems`, as shown."
    )
    codes = serializers.ListField(child=serializers.CharField())
    answers = AnswerRowOut(many=True)

    def get_systems(self, judgment: Judgment) -> list[str]:
        return [slot.candidate.system.name for slot in judgment.task.slots.all()]

    def get_origin(self, judgment: Judgment) -> str:
        return Judgment.Origin(judgment.origin).name.lower()


class JudgmentsView(APIView):
    @operation(
        "judgments", page_of(JudgmentRowOut, "JudgmentPageOut"), 400, 403, 404, parameters=paging.PARAMETERS
    )
    def get(self, request: Request, slug: str) -> Response:
        """Every judgment of a study: superseded, surplus and excluded ones too, each marked as such. Nothing that
        raters said who have withdrawn."""
        study = access.managed_study(request.user, slug)
        slots = TaskCandidate.objects.select_related("candidate__system").order_by("slot")
        answers = Answer.objects.select_related("question", "candidate__system").order_by(
            "question__position", "pk"
        )
        judgments = (
            without_withdrawn(Judgment.objects.filter(study=study))
            .select_related("task")
            .annotate(
                item=F("task__item_version__item__external_id"),
                rater_name=F("rater__pseudonym"),
                protocol_number=F("protocol_version__number"),
            )
            .prefetch_related(Prefetch("task__slots", slots), Prefetch("answers", answers))
        )
        return Response(paging.page(request, judgments, JudgmentRowOut))


class ExclusionsView(APIView):
    @operation("exclusions", page_of(ExclusionMarkOut), 400, 403, 404, parameters=paging.PARAMETERS)
    def get(self, request: Request, slug: str) -> Response:
        """Every mark that kept a judgment out of analysis or took it back in, the newest first: but for what
        raters said who have withdrawn."""
        study = access.managed_study(request.user, slug)
        theirs = without_withdrawn(Exclusion.objects.filter(study=study), by="judgment__rater")
        marks = theirs.annotate(
            client_id=F("judgment__client_id"),
            rater=F("judgment__rater__pseudonym"),
            actor_name=F("actor__name"),
        )
        return Response(paging.page(request, marks, ExclusionMarkOut, newest_first=True))

    @operation("exclude_judgments", ExclusionOut, 400, 403, 404, request=ExclusionIn)
    def post(self, request: Request, slug: str) -> Response:
        """Keep judgments out of analysis, or take them back in. Their places in the queue open or close with it."""
        study = access.managed_study(request.user, slug)
        body = ExclusionIn.parsed(request.data)
        pseudonym = body.pop("rater", None)
        if pseudonym is None:
            chosen, subject = exclusions.judgments_by_client_id(study, body.pop("client_ids")), ""
        else:
            chosen, subject = exclusions.judgments_of_rater(study, pseudonym), f"rater {pseudonym}"
        outcome = exclusions.exclude_or_restore(
            chosen, study=study, actor=request.user, subject=subject, **body
        )
        return Response(ExclusionOut(outcome).data)
