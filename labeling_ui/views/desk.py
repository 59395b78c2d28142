"""The review desk: one case, first judged blind, then with everything that is known of it."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation import access, review_access
from annotation.errors import Conflict, InvalidInput, NotFound
from annotation.models import ReviewCase
from annotation.rules.review import CORRECTABLE
from annotation.services import blind, cases, drafts
from annotation.services.case_queue import Filters
from labeling_ui import desk_data, desk_drafts, desk_page, desk_toast
from labeling_ui.sentences import said
from scoring.services import writing_drafts


@login_required
@never_cache
@require_safe
def desk(request: HttpRequest, case_id: int) -> HttpResponse:
    """Opening a case claims it where it is free. Its expert judges it blind before anything of the rest is sent.

    `?from=` is the query string of the queue that they came from, `?decided=` the case that they have just decided.
    """
    case = review_access.case_in_queue(request.user, case_id)
    if access.study_of(request.user, case.study.slug).manages:
        return _desk(request, case)
    try:
        case = cases.claim(request.user, case_id)
    except Conflict as error:
        return _closed(request, case, error)
    if not blind.knows(case, request.user):
        blind.begin(request.user, case_id)
        case = review_access.case_in_queue(request.user, case_id)
    if not blind.knows(case, request.user):
        return _page(request, "blind", case, {"blind": desk_data.blind(request, case)})
    with transaction.atomic():
        writing_drafts.offer(case, actor=request.user)
    return _desk(request, case, decides=True)


@login_required
@require_POST
def leave_case(request: HttpRequest, case_id: int) -> HttpResponse:
    """Go on, to the next case (`to=next`) or to the queue, and put this one back where it is not decided."""
    case = review_access.reviewed_case(request.user, case_id)
    came_from = request.POST.get("from", "")
    following = None
    if request.POST.get("to") == "next":
        following = cases.claim_next(request.user, case.study.slug, _filters(came_from), but=case_id)
    cases.put_back(request.user, case_id)
    decided = request.POST.get("decided", "")
    if following is not None:
        return redirect(_address(following.pk, came_from=came_from, decided=decided))
    if request.POST.get("to") == "next":
        messages.info(request, _("No further case is open here."))
    if decided and case.state == ReviewCase.State.RESOLVED:  # where it can be taken back
        return redirect(_address(case.pk, came_from=came_from))
    return redirect(f"{reverse('review_queue', args=[case.study.slug])}?{came_from}".rstrip("?"))


@login_required
@never_cache
def case_drafts(request: HttpRequest, case_id: int, field: str) -> HttpResponse:
    """The drafts of one field: a part of the desk that asks for itself while one is awaited.

    A POST asks a writer for another (`ask`), or rejects one (`reject`).
    """
    case = review_access.reviewed_case(request.user, case_id)
    if not blind.knows(case, request.user) or field not in CORRECTABLE:
        raise NotFound
    problem = ""
    if request.method == "POST":
        try:
            _change_drafts(request, case, field)
        except (Conflict, InvalidInput) as error:
            problem = said(error)
    context = {"case": case, "field": desk_drafts.of_field(case, field), "decides": True, "problem": problem}
    return render(request, "labeling_ui/desk/drafts.html", context)


@transaction.atomic
def _change_drafts(request: HttpRequest, case: ReviewCase, field: str) -> None:
    if draft := request.POST.get("reject", ""):
        found = case.drafts.filter(pk=int(draft)).first() if draft.isdecimal() else None
        if found is None:
            raise NotFound
        drafts.reject(request.user, found.pk)
        return
    wanted = request.POST.get("ask", "")
    writer = next((one for one in writing_drafts.writers_for(case) if str(one.pk) == wanted), None)
    if writer is None:
        raise NotFound
    note = request.POST.get(f"note-{field}", "").replace("\x00", "")
    writing_drafts.request(cases.held(request.user, case.pk), writer, actor=request.user, note=note)


def _filters(came_from: str) -> Filters:
    """Those of the queue that the expert came from; the queue as it is where they make no sense (any more)."""
    try:
        return Filters.of(QueryDict(came_from).dict())
    except InvalidInput:
        return Filters()


def _closed(request: HttpRequest, case: ReviewCase, error: Conflict) -> HttpResponse:
    """A case that is not this expert's to work on: what they may know of it, and why."""
    if blind.knows(case, request.user):
        return _desk(request, case, why=said(error))
    return _page(request, "closed", case, {"why": said(error)}, status=409)


def _desk(request: HttpRequest, case: ReviewCase, *, decides: bool = False, why: str = "") -> HttpResponse:
    manages = not decides and not why
    context = {
        "page": desk_page.page(case, reader=request.user, decides=decides),
        "desk": desk_data.desk(
            request, case, decides=decides, plays=not manages and case.task_id is not None
        ),
        "decides": decides,
        "manages": manages,
        "why": why,
    }
    return _page(request, "desk", case, context)


def _page(
    request: HttpRequest, name: str, case: ReviewCase, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    came_from = request.GET.get("from", "")
    decided = request.GET.get("decided", "")
    context |= {
        "case": case,
        "study": case.study,
        "came_from": came_from,
        "queue": f"{reverse('review_queue', args=[case.study.slug])}?{came_from}".rstrip("?"),
        "toast": desk_toast.toast(request.user, int(decided) if decided.isdecimal() else case.pk),
    }
    return render(request, f"labeling_ui/desk/{name}.html", context, status=status)


def _address(case_id: int, **told: str) -> str:
    query = urlencode({name.replace("came_from", "from"): value for name, value in told.items() if value})
    return f"{reverse('desk', args=[case_id])}?{query}".rstrip("?")
