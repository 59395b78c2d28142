"""The review queue: what experts should look at, in which order, and who is at it."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from analytics.reports.scorers import parts_of
from annotation import access, review_access
from annotation.access import StudyAccess
from annotation.errors import DomainError, InvalidInput
from annotation.models import ReviewCase, Study
from annotation.rules.flag_rules import FlagRules
from annotation.services import case_queue, cases, review_views
from annotation.services.case_queue import UNRESOLVED, Counts, Filters
from labeling_ui.forms.review import AssignForm, QueueForm, SaveViewForm, experts_of, query_of
from labeling_ui.sentences import said


@login_required
@never_cache
@require_safe
def review_queue(request: HttpRequest, slug: str) -> HttpResponse:
    found = review_access.study_with_queue(request.user, slug)
    experts = experts_of(found.study) if found.manages else []
    form = _form(found.study, request.GET, experts)
    after = request.GET.get("after", "")
    page = case_queue.page(
        found.study, form.filters, reader=request.user, after=int(after) if after.isdecimal() else None
    )
    query = query_of(form.filters)
    counts = case_queue.counts(found.study, reader=request.user)
    tabs, saved = _tabs(found, counts), _saved(request, slug)
    context = {
        "study": found.study,
        "access": found,
        "form": form,
        "page": page,
        "at_work": case_queue.at_work(found.study, user=request.user) if found.reviews else (),
        "after": after,
        "query": query,
        "filtered": bool(query),
        "counts": counts,
        "tabs": tabs,
        "saved": saved,
        "is_tab": query in {tab["query"] for tab in [*tabs, *saved]},
        "save_form": SaveViewForm(auto_id="view_%s"),
        "assign_form": AssignForm(None, experts=experts) if experts else None,
        "has_rules": bool(FlagRules.of(found.study.rules).in_force()),
    }
    return render(request, "labeling_ui/review/queue.html", context)


@login_required
@require_POST
def review_next(request: HttpRequest, slug: str) -> HttpResponse:
    """Claim the next case that the filters let through, and go to it."""
    found = review_access.study_with_queue(request.user, slug)
    filters = _form(found.study, request.POST, []).filters
    case = cases.claim_next(request.user, slug, filters)
    if case is None:
        messages.info(request, _("Nothing is left here: every case is settled, or somebody is at it."))
        return _back(slug, filters)
    query = query_of(filters)
    return redirect(reverse("desk", args=[case.pk]) + (f"?{urlencode({'from': query})}" if query else ""))


@login_required
@require_POST
def save_view(request: HttpRequest, slug: str) -> HttpResponse:
    found = review_access.study_with_queue(request.user, slug)
    filters = _form(found.study, request.POST, experts_of(found.study) if found.manages else []).filters
    form = SaveViewForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("A view needs a name of at most 80 characters."))
        return _back(slug, filters)
    try:
        review_views.save(request.user, slug, filters=filters, **form.cleaned_data)
    except InvalidInput as error:
        messages.error(request, " ".join(problem.message for problem in error.problems))
    else:
        messages.success(request, _("The view is saved."))
    return _back(slug, filters)


@login_required
@require_POST
def delete_view(request: HttpRequest, slug: str, view_id: int) -> HttpResponse:
    review_access.study_with_queue(request.user, slug)
    review_views.delete(request.user, slug, view_id)
    messages.success(request, _("The view is gone."))
    return redirect("review_queue", slug)


@login_required
@require_POST
def assign_cases(request: HttpRequest, slug: str) -> HttpResponse:
    """Give the chosen cases to an expert; those who run the study do."""
    study = access.managed_study(request.user, slug)
    experts = experts_of(study)
    filters = _form(study, request.POST, experts).filters
    form = AssignForm(request.POST, experts=experts)
    if not form.is_valid():
        messages.error(request, _("Choose some cases first."))
        return _back(slug, filters)
    expert = form.cleaned_data["expert"]
    try:
        n = cases.assign(
            request.user, slug, form.cleaned_data["cases"], expert=None if expert == "nobody" else expert
        )
    except DomainError as error:
        messages.error(request, said(error))
    else:
        changed = ngettext("%(n)s case has changed hands.", "%(n)s cases have changed hands.", n)
        messages.success(request, changed % {"n": n})
    return _back(slug, filters)


def _form(study: Study, given: QueryDict, experts: list[tuple[str, str]]) -> QueueForm:
    return QueueForm(given, strata=parts_of(study).strata, experts=experts)


def _tabs(found: StudyAccess, counts: Counts) -> list[dict[str, Any]]:
    """The views that everybody has; what is assigned to oneself, only who reviews."""
    mine = [(_("Mine"), Filters(state=UNRESOLVED, assigned="me"), counts.mine)] if found.reviews else []
    tabs = [
        (_("Open"), Filters(), counts.open),
        *mine,
        (_("At work"), Filters(state=ReviewCase.State.CLAIMED), counts.claimed),
        (_("With raters"), Filters(state=ReviewCase.State.RETURNED), counts.returned),
        (_("Resolved"), Filters(state=ReviewCase.State.RESOLVED), counts.resolved),
    ]
    return [{"title": title, "query": query_of(filters), "n": n} for title, filters, n in tabs]


def _saved(request: HttpRequest, slug: str) -> list[dict[str, Any]]:
    """Saved views with the part of the address that shows each."""
    return [
        {
            "view": view,
            "query": query_of(Filters.of(view.filters)),
            "is_mine": view.owner_id == request.user.pk,
        }
        for view in review_views.of(request.user, slug)
    ]


def _back(slug: str, filters: Filters) -> HttpResponse:
    query = query_of(filters)
    return redirect(reverse("review_queue", args=[slug]) + (f"?{query}" if query else ""))
