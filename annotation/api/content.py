"""What a study holds, for those who run it: items, judgments and their exclusion, the audit log."""

from __future__ import annotations

from django.db.models import F, Prefetch
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access
from annotation.api import paging
from annotation.api.content_shapes import (
    AuditEventOut,
    AuditPageOut,
    ExclusionIn,
    ExclusionMarkOut,
    ExclusionMarkPageOut,
    ExclusionOut,
    ItemOut,
    ItemPageOut,
    JudgmentPageOut,
    JudgmentRowOut,
)
from annotation.api.shapes import problems
from annotation.models import Answer, AuditEvent, Candidate, Exclusion, Judgment, TaskCandidate
from annotation.services import audit_log, exclusions
from annotation.services.rater_withdrawals import without_withdrawn


class ItemsView(APIView):
    @extend_schema(
        operation_id="items",
        parameters=paging.PARAMETERS,
        responses={200: ItemPageOut, **problems(400, 403, 404)},
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
        responses={200: JudgmentPageOut, **problems(400, 403, 404)},
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
        responses={200: ExclusionMarkPageOut, **problems(400, 403, 404)},
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
        responses={200: ExclusionOut, **problems(400, 403, 404)},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Keep judgments out of analysis, or take them back in. Their places in the queue open or close with it."""
        study = access.managed_study(request.user, slug)
        body = ExclusionIn.parsed(request.data)
        pseudonym = body.pop("rater", None)
        if pseudonym is None:
            chosen, subject = exclusions.named(study, body.pop("client_ids")), ""
        else:
            chosen, subject = exclusions.of_rater(study, pseudonym), f"rater {pseudonym}"
        outcome = exclusions.mark(chosen, study=study, actor=request.user, subject=subject, **body)
        return Response(ExclusionOut(outcome).data)


class AuditView(APIView):
    @extend_schema(
        operation_id="audit",
        parameters=paging.PARAMETERS,
        responses={200: AuditPageOut, **problems(400, 403, 404)},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Who did what in this study, newest first: raters under their pseudonyms, those who have withdrawn without.
        Votes are in …/judgments/."""
        study = access.managed_study(request.user, slug)
        events = audit_log.told(AuditEvent.objects.filter(study=study))
        return Response(paging.page(request, events, AuditEventOut, newest_first=True))
