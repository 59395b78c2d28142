"""The rater's pages: the guidelines, then the work. The work itself happens in the browser, over the API."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import get_language
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation import access
from annotation.authentication import account_key
from annotation.models import Judgment, Rater
from annotation.rules.listening import ListeningRules
from annotation.rules.listening_checks import is_due
from annotation.services import check_standings
from annotation.services.protocols import loaded
from labeling_ui import key_texts, workbench_texts
from labeling_ui.listening_words import expectations

# In the session: the protocol version, by study, whose guidelines this rater said they had read.
READ = "guidelines_read"


@login_required
def guidelines(request: HttpRequest, slug: str) -> HttpResponse:
    """What a study asks and how to answer it. Going on to the work counts as having read it."""
    mine = access.study_of(request.user, slug)
    protocol = loaded(mine.study.protocol_version_id)
    if request.method == "POST":
        request.session[READ] = {**request.session.get(READ, {}), slug: protocol.number}
        return redirect("work", slug)
    context = {
        "study": mine.study,
        "protocol": protocol.spec,
        "rates": mine.rates,
        "listening": expectations(protocol.spec, ListeningRules.of(mine.study.rules)),
    }
    return render(request, "labeling_ui/rate/guidelines.html", context)


@login_required
@never_cache
@require_safe
def work(request: HttpRequest, slug: str) -> HttpResponse:
    """The workbench. Guidelines come first, once for each version of the protocol; then listening checks, when due."""
    rater = access.rater_of(request.user, slug)
    study = rater.study
    protocol = loaded(study.protocol_version_id)
    if not _knows_guidelines(request, rater, number=protocol.number):
        return redirect("guidelines", slug)
    if is_due(check_standings.standings(rater.pk, study)):
        return redirect("checks", slug)
    workbench = {
        "account": account_key(request.user),
        "study": slug,
        "lease_minutes": study.lease_minutes,
        "language": get_language(),
        "texts": workbench_texts.texts() | key_texts.texts(),
        "urls": _urls(slug),
        "protocol": {"number": protocol.number, "definition": study.protocol_version.definition},
        "progress": {"done": rater.n_judgments, "tasks": study.n_tasks},
    }
    context = {
        "study": study,
        "rater": rater,
        "workbench": workbench,
    }
    return render(request, "labeling_ui/rate/work.html", context)


def _knows_guidelines(request: HttpRequest, rater: Rater, *, number: int) -> bool:
    """Said so in this session, or has already judged by this version."""
    if request.session.get(READ, {}).get(rater.study.slug) == number:
        return True
    judged = Judgment.objects.filter(rater=rater, protocol_version_id=rater.study.protocol_version_id)
    return judged.exists()


def _urls(slug: str) -> dict[str, Any]:
    any_assignment = uuid.UUID(int=0)
    return {
        "next": reverse("api_next", args=[slug]),
        "protocol": reverse("api_protocol", args=[slug]),
        "assignments": reverse("api_assignment", args=[any_assignment]).removesuffix(f"{any_assignment}/"),
        "cases": reverse("api_keep_case", args=[0]).removesuffix("0/keep/"),
        "sign_in": f"{reverse('sign_in')}?next={reverse('home')}",
        "home": reverse("home"),
        "returned": reverse("returned", args=[slug]),
        "checks": reverse("checks", args=[slug]),
    }
