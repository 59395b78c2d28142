"""The rater's pages: the guidelines, then the work. The work itself happens in the browser, over the API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from annotation import access
from annotation.access.sign_in import account_key
from annotation.errors import Conflict
from annotation.listening import checks as listening_checks
from annotation.listening.rules.checks import is_due
from annotation.listening.rules.coverage import ListeningRules
from annotation.models import Judgment, ListeningCheck, Rater, Study
from annotation.onboarding import path
from annotation.onboarding.rules import OnboardingRules
from annotation.raters.actions import open_notices
from annotation.rating import previews
from annotation.review import returns
from annotation.studies.protocols import DRAFT_NUMBER, load_protocol
from labeling_ui.domain_errors import errors_as_messages
from labeling_ui.page_responses import action, fresh_page, url_prefix
from labeling_ui.panels.participant_views import PAGES_OF_PARTICIPANT, page_of_ended_batch
from labeling_ui.rate.page_data import listening_requirements, own_answers, progress_of
from labeling_ui.raters.notices import shown_notices


@login_required
def guidelines(request: HttpRequest, slug: str) -> HttpResponse:
    """What a study asks and how to answer it. Going on to the work counts as having read this version anywhere."""
    study_access = access.study_of(request.user, slug)
    protocol = load_protocol(study_access.study.protocol_version_id)
    if request.method == "POST":
        if study_access.rates:
            path.read_guidelines(access.rater_of(request.user, slug))
        return redirect("work", slug)
    context = {
        "study": study_access.study,
        "protocol": protocol.spec,
        "rates": study_access.rates,
        "notices": shown_notices(open_notices(access.rater_of(request.user, slug)))
        if study_access.rates
        else [],
        "listening": listening_requirements(protocol.spec, ListeningRules.of(study_access.study.rules)),
    }
    return render(request, "labeling_ui/rate/guidelines.html", context)


@fresh_page
def work(request: HttpRequest, slug: str) -> HttpResponse:
    """The workbench. First come the steps that the study asks (`onboarding.path`), of which training happens here. Then
    guidelines, once for each version of the protocol; then listening checks, when due."""
    rater = access.rater_of(request.user, slug)
    study = rater.study
    if request.user.session_only and (page := page_of_ended_batch(rater)):
        return redirect(page)
    load_protocol(study.protocol_version_id)  # refuses, with the reason, where a study has none
    step = None if path.is_cleared(rater) else path.look_again(rater)
    if step is not None and step.code != path.IN_TRAINING:
        return redirect("start", slug)
    if not _has_read_guidelines(rater):
        return redirect("guidelines", slug)
    if is_due(listening_checks.check_standings(rater.pk, study)):
        return redirect("checks", slug)
    workbench = workbench_data(
        request,
        study,
        progress=progress_of(rater, study),
        urls={
            "next": reverse("api_next", args=[slug]),
            "assignments": url_prefix("api_assignment"),
            "cases": url_prefix("api_keep_case", placeholder=0),
            "sign_in": f"{reverse('sign_in')}?next={reverse('home')}",
            "home": reverse("home"),
            "returned": reverse("returned", args=[slug]),
            "checks": reverse("checks", args=[slug]),
            **(PAGES_OF_PARTICIPANT if request.user.session_only else {}),
        },
    )
    context = {"study": study, "workbench": workbench, "notices": shown_notices(open_notices(rater))}
    return render(request, "labeling_ui/rate/work.html", context)


def _has_read_guidelines(rater: Rater) -> bool:
    """Went on from this version's guidelines to the work; or has judged by it, where a study does not ask for more."""
    if path.has_read_guidelines(rater):
        return True
    if OnboardingRules.of(rater.study.rules).guidelines:
        return False
    judged = Judgment.objects.filter(rater=rater, protocol_version_id=rater.study.protocol_version_id)
    return judged.exists()


def workbench_data(
    request: HttpRequest,
    study: Study,
    *,
    progress: Mapping[str, int],
    urls: Mapping[str, str],
    draft: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The page data of the workbench's scripts, as JSON. `draft`: the definition of a protocol that is being written,
    which has no number yet."""
    assert study.protocol_version is not None
    current = {
        "number": load_protocol(study.protocol_version_id).number,
        "definition": study.protocol_version.definition,
    }
    return {
        "account": account_key(request.user),
        "study": study.slug,
        "lease_minutes": study.lease_minutes,
        "language": get_language(),
        "urls": {"protocol": reverse("api_protocol", args=[study.slug]), **urls},
        "protocol": current if draft is None else {"number": DRAFT_NUMBER, "definition": draft},
        "progress": progress,
    }


# The raters' page for those who run a study: the same page, over an API that keeps nothing.


@fresh_page
def preview(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    if not study.n_tasks:
        messages.info(request, _("There is nothing to rate yet: import something first."))
        return redirect("import", slug)
    overview, sign_in = reverse("study", args=[slug]), reverse("sign_in")
    workbench = workbench_data(
        request,
        study,
        progress={"done": 0, "tasks": min(study.n_tasks, previews.MAX_PREVIEWS)},
        urls={
            "next": reverse("api_preview_next", args=[slug]),
            "assignments": url_prefix("api_preview", slug),
            "sign_in": f"{sign_in}?next={reverse('preview', args=[slug])}",
            "home": overview,
            "returned": overview,
            "checks": overview,
        },
    )
    workbench["preview"] = True
    context = {"study": study, "workbench": workbench}
    return render(request, "labeling_ui/rate/preview.html", context)


# The rater's listening checks, and what a study requires of them.


@fresh_page
def checks(request: HttpRequest, slug: str) -> HttpResponse:
    """The checks that a study requires, one after another; they happen in the browser, over the API."""
    rater = access.rater_of(request.user, slug)
    standings = listening_checks.check_standings(rater.pk, rater.study)
    if not standings:
        return redirect("work", slug)
    rows = [(ListeningCheck.Kind(standing.kind).label, standing) for standing in standings]
    page = {
        "account": account_key(request.user),
        "language": get_language(),
        "urls": {"checks": reverse("api_checks", args=[slug]), "check": url_prefix("api_check_answer")},
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


# What experts asked a rater to look at again. It shows the rater's own answer and the expert's words,
# nothing else.


RETURNS_SHOWN = 20


@fresh_page
def returned(request: HttpRequest, slug: str) -> HttpResponse:
    rater = access.rater_of(request.user, slug)
    waiting = returns.waiting_returns(request.user, slug)
    returns_shown = waiting[:RETURNS_SHOWN]
    context = {
        "study": rater.study,
        "rows": [(row, own_answers(request.user, row.assignment_id)) for row in returns_shown],
        "n_more": len(waiting) - len(returns_shown),
    }
    return render(request, "labeling_ui/rate/returned.html", context)


@action
def keep_returned(request: HttpRequest, slug: str, return_id: int) -> HttpResponse:
    access.rater_of(request.user, slug)
    with errors_as_messages(request, Conflict):
        returns.keep_judgment(
            request.user, return_id, request.POST.get("reply", "").replace("\x00", "").strip()[:2000]
        )
        messages.success(request, _("Your answer stays as it is, and the expert is told."))
    return redirect("returned", slug)
