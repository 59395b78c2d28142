"""Looking without touching: what the services write, operators only read here."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import Model
from django.http import HttpRequest
from django.utils.functional import cached_property

# Beyond so many rows, nobody pages: they search.
COUNTED_ROWS = 10_000


class BoundedPaginator(Paginator):
    """Counts no further than anybody pages: counting ten million rows takes seconds, and every list would."""

    @cached_property
    def count(self) -> int:
        return int(self.object_list[:COUNTED_ROWS].count())


class ReadOnlyAdmin(admin.ModelAdmin):
    """A list and a page per row. Changes are made in the product, where they are checked and logged."""

    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    paginator = BoundedPaginator
    list_per_page = 50

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class ReadOnlyInline(admin.TabularInline):
    extra = 0
    can_delete = False
    show_change_link = True

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
