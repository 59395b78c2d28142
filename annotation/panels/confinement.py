"""Confinement: a panel's participant reaches the pages and calls of rating in their own study, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from annotation.api.errors import problem_response
from annotation.panels.participants import COOKIE

# Rooms whose views are for raters; those that run a study have theirs elsewhere, or are refused by `annotation.access`.
ROOMS = (
    "labeling_ui.rate.",
    "labeling_ui.panels.participant_views",
    "labeling_ui.onboarding",
    "labeling_ui.account.language",
    "annotation.rating.api",
    "annotation.listening.api",
    "annotation.onboarding.api",
    "annotation.studies.attachments",
)
# Of these, the pages of raters, which lead whoever is not signed in to the form that signs in.
PAGES = ("labeling_ui.rate.", "labeling_ui.onboarding.")
NAMES = frozenset({"javascript_catalog", "attachment", "api_protocol", "dismiss_notices"})


class KeepParticipantsInside:
    """For accounts of a session alone (`User.session_only`). Runs no query of its own."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], _arguments: Any, _named: Any
    ) -> HttpResponse | None:
        room = getattr(view, "view_class", getattr(view, "cls", view)).__module__
        if COOKIE in request.COOKIES and room.startswith(PAGES) and not request.user.is_authenticated:
            return redirect("take_part")  # another device took the session over, or it is old
        if SESSION_KEY not in request.session or not getattr(request.user, "session_only", False):
            return None
        name = request.resolver_match.url_name if request.resolver_match else None
        if name in NAMES or room.startswith(ROOMS):
            return None
        if request.path.startswith("/api/"):
            return problem_response(404, "not_found", "This does not exist, or you do not have access to it.")
        return redirect("take_part")
