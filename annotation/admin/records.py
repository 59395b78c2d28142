"""What was said, done and logged. Append-only in the database too: there is nothing here to change or delete."""

from __future__ import annotations

from django.contrib import admin

from annotation.admin.readonly import ReadOnlyAdmin, ReadOnlyInline
from annotation.models import (
    Answer,
    Assignment,
    AuditEvent,
    CaseEvent,
    CaseReason,
    Correction,
    Draft,
    Exclusion,
    Job,
    Judgment,
    Return,
    ReviewCase,
)


@admin.register(Assignment)
class AssignmentAdmin(ReadOnlyAdmin):
    list_display = ("id", "rater", "state", "leased_at", "expires_at", "closed_at", "skip_reason")
    list_filter = ("state",)
    list_select_related = ("rater",)
    search_fields = ("rater__pseudonym__exact",)


class AnswerInline(ReadOnlyInline):
    model = Answer
    fields = ("question", "candidate", "choice", "value", "confidence", "text", "counted")


class ExclusionInline(ReadOnlyInline):
    model = Exclusion
    fields = ("action", "reason", "comment", "actor", "created_at")


@admin.register(Judgment)
class JudgmentAdmin(ReadOnlyAdmin):
    list_display = ("id", "rater", "origin", "revision", "effective", "excluded", "surplus", "submitted_at")
    list_filter = ("origin", "effective", "excluded", "surplus")
    list_select_related = ("rater",)
    search_fields = ("rater__pseudonym__exact",)
    inlines = (AnswerInline, ExclusionInline)


@admin.register(Exclusion)
class ExclusionAdmin(ReadOnlyAdmin):
    list_display = ("judgment_id", "action", "reason", "actor", "created_at")
    list_filter = ("action",)
    list_select_related = ("actor",)
    search_fields = ("judgment__rater__pseudonym__exact", "reason")


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyAdmin):
    list_display = ("at", "actor", "action", "study", "subject")
    list_select_related = ("actor", "study")
    search_fields = ("action__startswith", "actor__email__exact", "study__slug__exact")


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    list_display = (
        "id",
        "kind",
        "study",
        "state",
        "stage",
        "done",
        "total",
        "attempts",
        "created_at",
        "finished_at",
    )
    list_filter = ("state", "kind")
    list_select_related = ("study",)
    search_fields = ("id__exact", "study__slug__exact")


class CaseReasonInline(ReadOnlyInline):
    model = CaseReason


class DraftInline(ReadOnlyInline):
    model = Draft
    fields = ("field", "writer", "state", "text", "problem", "created_at", "settled_at")


class ReturnInline(ReadOnlyInline):
    model = Return
    fields = ("rater", "n_wanted", "state", "comment", "reply", "created_at", "closed_at")


class CaseEventInline(ReadOnlyInline):
    model = CaseEvent


@admin.register(ReviewCase)
class ReviewCaseAdmin(ReadOnlyAdmin):
    list_display = ("id", "study", "item", "state", "decision", "priority", "assigned_to", "created_at")
    list_filter = ("state", "decision")
    list_select_related = ("study", "item", "assigned_to")
    search_fields = ("item__external_id__exact", "study__slug__exact")
    inlines = (CaseReasonInline, CaseEventInline, DraftInline, ReturnInline)


@admin.register(Correction)
class CorrectionAdmin(ReadOnlyAdmin):
    list_display = ("field", "reason", "origin", "author", "created_at")
    list_filter = ("origin",)
    list_select_related = ("author",)
    search_fields = ("author__email__exact",)
