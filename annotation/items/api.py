"""What the endpoints about a study's content take and give. All of it is for those who run the study."""

from __future__ import annotations

from typing import Any

from django.db.models import F, Prefetch, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access
from annotation.api import paging
from annotation.api.paging import PageOut
from annotation.api.serializers import In, problem_responses
from annotation.models import (
    Answer,
    AuditEvent,
    Candidate,
    Correction,
    Exclusion,
    Item,
    ItemVersion,
    Judgment,
    Task,
    TaskCandidate,
)
from annotation.raters.withdrawal import without_withdrawn
from annotation.rating import exclusions
from annotation.studies import audit

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


# What a study holds, for those who run it: items, judgments and their exclusion, the audit log.


class ItemsView(APIView):
    @extend_schema(
        operation_id="items",
        parameters=paging.PARAMETERS,
        responses={200: ItemPageOut, **problem_responses(400, 403, 404)},
    )
    def get(self, request: Request, slug: str) -> Response:
        """The items of a study, each with its current version and candidates."""
        study = access.managed_study(request.user, slug)
        candidates = Candidate.objects.select_related("system", "clip").defer("clip__peaks").order_by("pk")
        items = study.items.select_related("current_version").prefetch_related(
            Prefetch("current_version__candidates", candidates)
        )
        return Response(paging.page(request, items, ItemOut))


class JudgmentsView(APIView):
    @extend_schema(
        operation_id="judgments",
        parameters=paging.PARAMETERS,
        responses={200: JudgmentPageOut, **problem_responses(400, 403, 404)},
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
    @extend_schema(
        operation_id="exclusions",
        parameters=paging.PARAMETERS,
        responses={200: ExclusionMarkPageOut, **problem_responses(400, 403, 404)},
    )
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

    @extend_schema(
        operation_id="exclude_judgments",
        request=ExclusionIn,
        responses={200: ExclusionOut, **problem_responses(400, 403, 404)},
    )
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


class AuditView(APIView):
    @extend_schema(
        operation_id="audit",
        parameters=paging.PARAMETERS,
        responses={200: AuditPageOut, **problem_responses(400, 403, 404)},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Who did what in this study, newest first: raters under their pseudonyms, those who have withdrawn without.
        Votes are in …/judgments/."""
        study = access.managed_study(request.user, slug)
        events = audit.with_actor_names(AuditEvent.objects.filter(study=study))
        return Response(paging.page(request, events, AuditEventOut, newest_first=True))


# What the endpoints about single items, tasks and protocol versions give: for those who run the study.


class CorrectionOut(serializers.Serializer):
    id = serializers.IntegerField()
    item_id = serializers.IntegerField(source="version_after.item_id")
    item = serializers.CharField(source="version_after.item.external_id")
    field = serializers.CharField()
    before = serializers.CharField()
    after = serializers.CharField()
    reason = serializers.CharField()
    comment = serializers.CharField()
    origin = serializers.ChoiceField(Correction.Origin.choices)
    version_before = serializers.IntegerField(source="version_before.number")
    version_after = serializers.IntegerField(source="version_after.number")
    undone = serializers.BooleanField(source="version_after.retracted")
    case = serializers.IntegerField(source="case_id", allow_null=True)
    author = serializers.CharField(source="author.name")
    created_at = serializers.DateTimeField()


class CorrectionPageOut(PageOut):
    results = CorrectionOut(many=True)


class ItemVersionOut(serializers.Serializer):
    number = serializers.IntegerField()
    prompt = serializers.CharField()
    lyrics = serializers.CharField()
    question = serializers.CharField()
    reference = serializers.CharField()
    rationale = serializers.CharField()
    transcript = serializers.CharField()
    extra = serializers.DictField()
    content_sha256 = serializers.CharField()
    retracted = serializers.BooleanField(help_text="The correction that made it was undone.")
    is_current = serializers.SerializerMethodField()
    created_by = serializers.CharField(source="created_by.name", default=None, allow_null=True)
    created_at = serializers.DateTimeField()
    candidates = CandidateRowOut(source="candidates.all", many=True)

    def get_is_current(self, version: ItemVersion) -> bool:
        return version.pk == version.item.current_version_id


class ItemInFullOut(serializers.Serializer):
    """An item with all of its versions, the oldest first. What people said of it is at …/history/."""

    id = serializers.IntegerField()
    external_id = serializers.CharField()
    state = serializers.ChoiceField(Item.State.choices)
    strata = serializers.DictField()
    created_at = serializers.DateTimeField()
    versions = ItemVersionOut(many=True)
    corrections = CorrectionOut(many=True)


class TaskOut(serializers.Serializer):
    id = serializers.IntegerField()
    external_id = serializers.CharField()
    item_id = serializers.IntegerField(source="item_version.item_id")
    item = serializers.CharField(source="item_version.item.external_id")
    version = serializers.IntegerField(source="item_version.number")
    kind = serializers.SerializerMethodField()
    state = serializers.SerializerMethodField()
    overlap = serializers.IntegerField(help_text="Judgments that it wants.")
    n_judgments = serializers.IntegerField(help_text="That count: effective and not excluded.")
    n_leases = serializers.IntegerField(help_text="Raters who have it open now.")
    wants_more = serializers.BooleanField()
    systems = serializers.SerializerMethodField(help_text="In canonical order.")

    def get_kind(self, task: Task) -> str:
        return Task.Kind(task.kind).name.lower()

    def get_state(self, task: Task) -> str:
        return Task.State(task.state).name.lower()

    def get_systems(self, task: Task) -> list[str]:
        return [slot.candidate.system.name for slot in task.slots.all()]


class TaskPageOut(PageOut):
    results = TaskOut(many=True)


class ProtocolVersionOut(serializers.Serializer):
    number = serializers.IntegerField()
    preset = serializers.CharField()
    definition = serializers.DictField()
    definition_sha256 = serializers.CharField()
    created_by = serializers.CharField(source="created_by.name", default=None, allow_null=True)
    created_at = serializers.DateTimeField()


class ProtocolVersionPageOut(PageOut):
    results = ProtocolVersionOut(many=True)


# Single items with their versions and corrections, tasks with their progress, and a study's protocol
# versions.


class ItemView(APIView):
    @extend_schema(operation_id="item", responses={200: ItemInFullOut, **problem_responses(403, 404)})
    def get(self, request: Request, slug: str, item_id: int) -> Response:
        """One item with all of its versions, their candidates, and the corrections that made them."""
        item = access.item_of(request.user, slug, item_id)
        candidates = Candidate.objects.select_related("system", "clip").defer("clip__peaks").order_by("pk")
        versions = ItemVersion.objects.filter(item=item).select_related("item", "created_by")
        body = {
            **{name: getattr(item, name) for name in ("id", "external_id", "state", "strata", "created_at")},
            "versions": versions.prefetch_related(Prefetch("candidates", candidates)).order_by("number"),
            "corrections": _corrections_query().filter(version_after__item=item).order_by("pk"),
        }
        return Response(ItemInFullOut(body).data)


class TasksView(APIView):
    @extend_schema(
        operation_id="tasks",
        parameters=paging.PARAMETERS,
        responses={200: TaskPageOut, **problem_responses(400, 403, 404)},
    )
    def get(self, request: Request, slug: str) -> Response:
        """The tasks of a study, and how many judgments each has and wants."""
        study = access.managed_study(request.user, slug)
        slots = TaskCandidate.objects.select_related("candidate__system").order_by("slot")
        tasks = study.tasks.select_related("item_version__item").prefetch_related(Prefetch("slots", slots))
        return Response(paging.page(request, tasks, TaskOut))


class CorrectionsView(APIView):
    @extend_schema(
        operation_id="corrections",
        parameters=paging.PARAMETERS,
        responses={200: CorrectionPageOut, **problem_responses(400, 403, 404)},
    )
    def get(self, request: Request, slug: str) -> Response:
        """What experts changed in a study's items, field by field, the newest first."""
        study = access.managed_study(request.user, slug)
        found = _corrections_query().filter(study=study)
        return Response(paging.page(request, found, CorrectionOut, newest_first=True))


class ProtocolVersionsView(APIView):
    @extend_schema(
        operation_id="protocol_versions",
        parameters=paging.PARAMETERS,
        responses={200: ProtocolVersionPageOut, **problem_responses(400, 403, 404)},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Every version of what a study asked, in full; answers name the version that they were given to."""
        study = access.managed_study(request.user, slug)
        found = study.protocol_versions.select_related("created_by")
        return Response(paging.page(request, found, ProtocolVersionOut))


def _corrections_query() -> QuerySet[Correction]:
    return Correction.objects.select_related("version_before", "version_after__item", "author")
