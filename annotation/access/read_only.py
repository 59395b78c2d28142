"""Archived studies stand still: a request that would change one is refused at the door that finds the study."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse

from annotation.access import changes_studies

SAFE = ("GET", "HEAD", "OPTIONS")
# What ends the archive or the study itself, copies it into another, or stores nothing.
ALLOWED = frozenset(
    {
        "archive_study", "unarchive_study", "delete_study", "restore_study", "copy_study", "api_archive",
        "api_deletion", "api_copies", "api_protocol_changes", "rules_preview", "api_rules_preview",
    }
)  # fmt: skip
PREVIEWS = ("api_preview", "draft_preview")


class ReadOnlyStudies:
    """Notes for `annotation.access` whether the request may change something."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        token = changes_studies.set(False)
        try:
            return self.get_response(request)
        finally:
            changes_studies.reset(token)

    def process_view(self, request: HttpRequest, *_view: Any) -> None:
        name = (request.resolver_match.url_name if request.resolver_match else None) or ""
        changes_studies.set(
            request.method not in SAFE and name not in ALLOWED and not name.startswith(PREVIEWS)
        )
