"""What is refused before a view could read it: a form that is too large, too many files, a host that is not served."""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import TooManyFieldsSent, TooManyFilesSent
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, JsonResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from annotation.api import errors


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """A page for people, its sentence for the script that sends files, problem+json below /api/."""
    if request.path.startswith("/api/"):
        return errors.bad_request(request, exception)
    if request.headers.get("Accept", "").startswith("application/json"):
        return JsonResponse({"detail": _sentence(exception)}, status=400)
    return HttpResponseBadRequest(render_to_string("400.html", {"sentence": _sentence(exception)}))


def too_many_files() -> str:
    most = f"{settings.DATA_UPLOAD_MAX_NUMBER_FILES:,}"
    return _(
        "Nothing was changed. %(most)s files at most are taken at once: bring a larger folder as a .zip."
    ) % {"most": most}


def _sentence(error: Exception) -> str:
    if isinstance(error, TooManyFilesSent | TooManyFieldsSent):
        return too_many_files()
    return _(
        "Nothing was changed. If you sent a file, it may be larger than this site takes: ask the person who runs it, "
        "or split the file."
    )
