"""The rater's pages: the guidelines, then the work. The work itself happens in the browser, over the API."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


@login_required
def guidelines(request: HttpRequest, slug: str) -> HttpResponse:
    return render(request, "labeling_ui/home.html", {})


@login_required
def work(request: HttpRequest, slug: str) -> HttpResponse:
    return render(request, "labeling_ui/home.html", {})
