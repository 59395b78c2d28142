from __future__ import annotations

from django.contrib import admin

from annotation.admin.readonly import ReadOnlyAdmin
from scoring.models import Score, Scorer, ScoringRun


@admin.register(Scorer)
class ScorerAdmin(ReadOnlyAdmin):
    list_display = ("key", "digest", "created_at")
    search_fields = ("key", "digest__startswith")


@admin.register(Score)
class ScoreAdmin(ReadOnlyAdmin):
    list_display = ("id", "scorer", "output", "value", "created_at")
    list_select_related = ("scorer",)
    search_fields = ("scorer__key__exact",)


@admin.register(ScoringRun)
class ScoringRunAdmin(ReadOnlyAdmin):
    list_display = (
        "id",
        "study",
        "scorer",
        "state",
        "n_rows",
        "n_done",
        "n_failed",
        "created_at",
        "finished_at",
    )
    list_filter = ("state",)
    list_select_related = ("study", "scorer")
    search_fields = ("study__slug__exact", "scorer__key__exact")
