"""The language that an account chose holds on every page, whichever browser it signs in with."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.views.i18n import set_language as set_browser_language

from annotation.access import accounts


class AccountLanguage:
    """After the session's account is known. Costs nothing where nobody is signed in; pages load the account anyway."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if SESSION_KEY in request.session and (language := getattr(request.user, "language", "")):
            translation.activate(language)
            request.LANGUAGE_CODE = language
        return self.get_response(request)


def set_language(request: HttpRequest) -> HttpResponse:
    """The choice at the foot of each page: for this browser, and for the account that is signed in."""
    language = request.POST.get("language", "")
    if request.method == "POST" and request.user.is_authenticated and language in dict(settings.LANGUAGES):
        accounts.change_profile(request.user, language=language)
    response: HttpResponse = set_browser_language(request)
    return response
