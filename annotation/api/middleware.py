"""What holds for all of the API and needs the whole answer: versions, repeated writes, and no HTML whatever happens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.permissions import SAFE_METHODS

from annotation.api import etags, repeats
from annotation.api.errors import problem_response

PREFIX = "/api/"


class ApiAnswers:
    """Costs a session that rates nothing but looking at two headers."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not request.path.startswith(PREFIX):
            return self.get_response(request)
        if not request.path.endswith("/") and request.method not in SAFE_METHODS:
            # A redirect would turn the write into a read.
            return problem_response(404, "not_found", "Addresses of the API end in a slash.")
        response = self.get_response(request)
        return etags.conditional(request, response) if request.method in ("GET", "HEAD") else response

    def process_view(
        self, request: HttpRequest, view: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> HttpResponseBase | None:
        if request.method in SAFE_METHODS or not hasattr(view, "cls"):
            return None
        matches = "If-Match" in request.headers
        if not matches and repeats.HEADER not in request.headers:
            return None

        def work() -> HttpResponseBase:
            response = _matching(request, view, args, kwargs) if matches else view(request, *args, **kwargs)
            if hasattr(response, "render"):
                response.render()
            return response

        return repeats.answer(request, view, kwargs, work) if repeats.is_asked(request, view) else work()


def _matching(request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponseBase:
    with transaction.atomic():
        return etags.failed(request, view, args, kwargs) or view(request, *args, **kwargs)
