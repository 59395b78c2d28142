"""Where a second factor is required, nothing else opens before it is set up."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import SESSION_KEY
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.access.two_factor import lacks_second_factor
from annotation.api.errors import problem_response


class RequireTwoFactor:
    """For sessions; tokens are made in one. Costs nothing where the site requires none."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if settings.REQUIRE_TWO_FACTOR == "optional" or SESSION_KEY not in request.session:
            return self.get_response(request)
        if (
            _is_open(request.path)
            or not request.user.is_authenticated
            or not lacks_second_factor(request.user)
        ):
            return self.get_response(request)
        sentence = _("Your role needs two-factor sign-in here. Set it up to go on.")
        if request.path.startswith("/api/"):
            return problem_response(403, "two_factor_required", sentence)
        messages.warning(request, sentence)
        return redirect("mfa_index")


def _is_open(path: str) -> bool:
    pages = ("mfa_index", "account_reauthenticate", "sign_out", "set_language", "javascript_catalog")
    return path.startswith(tuple(reverse(name) for name in pages))
