"""The operators' side. Studies are run in the product; this is for accounts, and for looking things up."""

from __future__ import annotations

from django.contrib import admin

from annotation.admin import content, people, records

admin.site.site_header = admin.site.site_title = "Concord"
admin.site.index_title = "Operation"

__all__ = ["content", "people", "records"]
