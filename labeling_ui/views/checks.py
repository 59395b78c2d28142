"""The rater's listening checks, and what a study requires of them."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation import access
from annotation.authentication import account_key
from annotation.errors import InvalidInput
from annotation.models import ListeningCheck
from annotation.services import check_standings, listening_checks
from labeling_ui import check_texts
from labeling_ui.forms.checks import ChecksForm
from labeling_ui.forms.problems import add_problems


@login_required
@never_cache
@require_safe
def checks(request: HttpRequest, slug: str) -> HttpResponse:
    """The checks that a study requires, one after another; they happen in the browser, over the API."""
    rater = access.rater_of(request.user, slug)
    standings = check_standings.standings(rater.pk, rater.study)
    if not standings:
        return redirect("work", slug)
    rows = [(ListeningCheck.Kind(standing.kind).label, standing) for standing in standings]
    page = {
        "account": account_key(request.user),
        "language": get_language(),
        "texts": check_texts.texts(),
        "urls": {"checks": reverse("api_checks", args=[slug]), "check": _any_check()},
    }
    first = next((standing for standing in standings if standing.state != "valid"), None)
    context = {
        "study": rater.study,
        "rows": rows,
        "due": first is not None,
        "begin_with": first.kind if first and first.state == "due" else "",
        "page": page,
    }
    return render(request, "labeling_ui/rate/checks.html", context)


@login_required
def check_settings(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    form = ChecksForm(request.POST or None, initial=ChecksForm.initial_of(study))
    if form.is_valid():
        try:
            listening_checks.set_rules(study, actor=request.user, **form.cleaned_data)
        except InvalidInput as error:
            add_problems(form, error)
        else:
            messages.success(request, _("Saved."))
            return redirect("settings", slug)
    return render(request, "labeling_ui/study/check_settings.html", {"study": study, "checks_form": form})


def _any_check() -> str:
    """The address below which every check lies."""
    nobody = uuid.UUID(int=0)
    return reverse("api_check_answer", args=[nobody]).removesuffix(f"{nobody}/answers/")
