"""What is refused before a view could read it: a form that is too large, too many files, a host that is not served."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import TooManyFieldsSent, TooManyFilesSent
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from annotation.api import errors
from annotation.errors import DomainError

# What the services refuse, said as a page.


class DomainErrorPages:
    """A view that lets a DomainError through gets a page with its sentence and status. The API has its own words."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, DomainError):
            return None
        return render(request, "labeling_ui/problem.html", {"error": error}, status=error.status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """A page for people, its sentence for the script that sends files, problem+json below /api/."""
    if request.path.startswith("/api/"):
        return errors.bad_request(request, exception)
    if request.headers.get("Accept", "").startswith("application/json"):
        return JsonResponse({"detail": _bad_request_message(exception)}, status=400)
    return HttpResponseBadRequest(render_to_string("400.html", {"sentence": _bad_request_message(exception)}))


def too_many_files_message() -> str:
    most = f"{settings.DATA_UPLOAD_MAX_NUMBER_FILES:,}"
    return _(
        "Nothing was changed. %(most)s files at most are taken at once: bring a larger folder as a .zip."
    ) % {"most": most}


def _bad_request_message(error: Exception) -> str:
    if isinstance(error, TooManyFilesSent | TooManyFieldsSent):
        return too_many_files_message()
    return _(
        "Nothing was changed. If you sent a file, it may be larger than this site takes: ask the person who runs it, "
        "or split the file."
    )
