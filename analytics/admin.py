from __future__ import annotations

from django.contrib import admin

from analytics.models import Release
from annotation.admin import ReadOnlyAdmin


@admin.register(Release)
class ReleaseAdmin(ReadOnlyAdmin):
    list_display = ("study", "number", "sha256", "created_by", "created_at")
    list_select_related = ("study", "created_by")
    search_fields = ("study__slug__exact", "sha256__exact")
