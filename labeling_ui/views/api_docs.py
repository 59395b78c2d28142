"""The API's reference, for whoever is signed in."""

from __future__ import annotations

from functools import cache

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.translation import get_language

from labeling_ui.api_reference import reference


@login_required
def api_docs(request: HttpRequest) -> HttpResponse:
    context = {"subjects": reference().subjects, "body": _body(get_language())}
    return render(request, "labeling_ui/api/reference.html", context)


@cache
def _body(language: str) -> str:
    """All but the frame: the same for everybody, and large. `language` tells one from another."""
    return render_to_string("labeling_ui/api/calls.html", {"reference": reference()})
