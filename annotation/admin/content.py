from __future__ import annotations

from django.contrib import admin

from annotation.admin.readonly import ReadOnlyAdmin, ReadOnlyInline
from annotation.models import (
    Candidate,
    Clip,
    GoldKey,
    Item,
    ItemVersion,
    ProtocolVersion,
    Question,
    Study,
    System,
    Task,
    TaskCandidate,
)


@admin.register(Study)
class StudyAdmin(ReadOnlyAdmin):
    list_display = ("slug", "title", "state", "n_items", "n_tasks", "created_by", "created_at")
    list_filter = ("state",)
    list_select_related = ("created_by",)
    search_fields = ("slug", "title")


class QuestionInline(ReadOnlyInline):
    model = Question


@admin.register(ProtocolVersion)
class ProtocolVersionAdmin(ReadOnlyAdmin):
    list_display = ("study", "number", "preset", "created_at")
    list_select_related = ("study",)
    search_fields = ("study__slug",)
    inlines = (QuestionInline,)


@admin.register(System)
class SystemAdmin(ReadOnlyAdmin):
    list_display = ("name", "study")
    list_select_related = ("study",)
    search_fields = ("name", "study__slug")


class ItemVersionInline(ReadOnlyInline):
    model = ItemVersion
    fields = ("number", "prompt", "question", "created_at")


@admin.register(Item)
class ItemAdmin(ReadOnlyAdmin):
    list_display = ("external_id", "study", "state", "created_at")
    list_filter = ("state",)
    list_select_related = ("study",)
    search_fields = ("external_id__exact",)
    inlines = (ItemVersionInline,)


class CandidateInline(ReadOnlyInline):
    model = Candidate


@admin.register(ItemVersion)
class ItemVersionAdmin(ReadOnlyAdmin):
    list_display = ("item", "number", "created_by", "created_at")
    list_select_related = ("item", "created_by")
    search_fields = ("item__external_id__exact",)
    inlines = (CandidateInline,)


class SlotInline(ReadOnlyInline):
    model = TaskCandidate


class GoldKeyInline(ReadOnlyInline):
    model = GoldKey


@admin.register(Task)
class TaskAdmin(ReadOnlyAdmin):
    list_display = (
        "external_id",
        "study",
        "kind",
        "state",
        "n_judgments",
        "n_leases",
        "overlap",
        "wants_more",
    )
    list_filter = ("kind", "state", "wants_more")
    list_select_related = ("study",)
    search_fields = ("external_id__exact",)
    inlines = (SlotInline, GoldKeyInline)


@admin.register(Clip)
class ClipAdmin(ReadOnlyAdmin):
    list_display = (
        "sha256",
        "duration_s",
        "channels",
        "loudness_lufs",
        "true_peak_dbtp",
        "silent",
        "created_at",
    )
    list_filter = ("silent",)
    search_fields = ("sha256__exact", "canonical_sha256__exact")
