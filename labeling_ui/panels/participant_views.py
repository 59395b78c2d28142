"""Pages of a panel's participants, from the link that they open to the code that they take back. No sign-in: a
participant's session begins here (`annotation.panels.participants`)."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from csp.decorators import csp_replace, csp_update
from django.contrib.auth import login, logout
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_POST, require_safe

from annotation.access.sign_in import AccountBackend
from annotation.errors import Conflict, DomainError
from annotation.models import PanelLink, Participant, Place, Rater, Study
from annotation.onboarding import path
from annotation.panels import participants, places
from annotation.panels.participants import Begun
from annotation.panels.rules import MTURK_HOSTS, Arrival, mturk_form_address, way_back
from annotation.rating import leases

# For Mechanical Turk's frames and forms, on the two pages that it shows or that send it something.
_MTURK_SOURCES = [f"https://{host}" for host in MTURK_HOSTS]
_may_send_there = csp_update({"form-action": _MTURK_SOURCES})
_may_be_framed = csp_replace({"frame-ancestors": _MTURK_SOURCES})
# Where the workbench leads a participant.
PAGES_OF_PARTICIPANT: dict[str, Any] = {
    "sign_in": reverse_lazy("take_part"),
    "home": reverse_lazy("take_part"),
    "finish": reverse_lazy("take_part_finish"),
}
# In the address of a link that Mechanical Turk's frame opens in a tab of its own.
IN_TAB = "in_tab"


@never_cache
def enter(request: HttpRequest, token: str) -> HttpResponseBase:
    """A panel's link. Looking at it stores nothing: the participant begins by a button."""
    link = participants.link_by_token(token)
    arrived = participants.arrival(link, request.GET.dict())
    if link.panel == PanelLink.Panel.MTURK and IN_TAB not in request.GET and not _is_walk(request):
        return _mturk_frame(request, link, arrived)
    return _enter(request, link, arrived)


def _enter(request: HttpRequest, link: PanelLink, arrived: Arrival) -> HttpResponse:
    if arrived.problem:
        return _problem(request, link, arrived.problem, arrived)
    mine = _own_place(request)
    if mine is not None and _is_same(mine, link, arrived):
        places.settle(mine)
        if mine.state == Place.State.WORKING:
            return redirect("work", link.study.slug)
        if request.method != "POST" and (mine.state in Place.REOPENED or not _next_batch(mine)):
            return redirect("take_part")
    if request.method == "POST":
        return _begin(request, link, arrived)
    if refusal := participants.may_begin(link, arrived):
        return _problem(request, link, refusal, arrived)
    context = {
        "link": link,
        "study": link.study,
        "arrived": arrived,
        "is_test": _is_walk(request),
        "account": request.user if request.user.is_authenticated and mine is None else None,
        "batch": mine.number + 1 if mine is not None and mine.state == Place.State.COMPLETED else 1,
    }
    return render(request, "labeling_ui/panels/enter.html", context)


def _begin(request: HttpRequest, link: PanelLink, arrived: Arrival) -> HttpResponse:
    try:
        begun = participants.begin(link, arrived)
    except Conflict as refusal:
        return _problem(request, link, refusal.code, arrived)
    return _start_session(request, link, begun)


def _start_session(request: HttpRequest, link: PanelLink, begun: Begun) -> HttpResponse:
    if request.user.is_authenticated and request.user.pk != begun.user.pk:
        logout(request)  # nothing of another account's session goes with the participant
    login(request, begun.user, backend=AccountBackend.PATH)
    response: HttpResponse = redirect("work", link.study.slug)
    response.set_cookie(
        participants.COOKIE,
        participants.cookie_of(begun.participant, link),
        max_age=participants.COOKIE_SECONDS,
        secure=request.is_secure(),
        httponly=True,
        samesite="Lax",
    )
    return response


def _is_walk(request: HttpRequest) -> bool:
    return participants.WALK_PARAMETER in request.GET


def _is_same(place: Place, link: PanelLink, arrived: Arrival) -> bool:
    participant = place.participant
    return (participant.study_id, participant.panel, participant.external_id) == (
        link.study_id,
        link.panel,
        arrived.participant_id,
    )


def _own_place(request: HttpRequest) -> Place | None:
    """The latest place of the participant whose session this is."""
    if not getattr(request.user, "session_only", False):
        return None
    rater = Rater.objects.filter(user_id=request.user.pk).first()
    return None if rater is None else places.current_place(rater)


def _problem(request: HttpRequest, link: PanelLink, problem: str, arrived: Arrival) -> HttpResponse:
    """A page that says why nobody can begin by this link, and what to do; with the code for those who are full."""
    code, address = "", ""
    if problem in ("full", "no_tasks", "closed"):
        fields = {**arrived.parameters, "participant": arrived.participant_id}
        code, address = way_back(link.panel, link.screened_out_code, fields)
    may_type = problem in ("missing_id", "unfilled", "bad_id") and not link.signature_parameter
    context = {
        "link": link,
        "study": link.study,
        "problem": problem,
        "code": code,
        "address": address,
        "may_type": may_type,
        "parameters": arrived.parameters,
    }
    status = 409 if problem in ("full", "no_tasks", "closed", "no_more_batches", "has_ended") else 400
    return render(request, "labeling_ui/panels/problem.html", context, status=status)


def page_of_ended_batch(rater: Rater) -> str:
    """The page for a participant who has no work now; empty for one who has."""
    place = places.current_place(rater)
    if place is None or places.settle(place) is not None:
        return "take_part_finish"
    if place.state != Place.State.WORKING:
        return "take_part"
    places.note_presence(place)
    return ""


# ── While they take part ───────────────────────────────────────────────────────


@never_cache
@require_safe
def take_part(request: HttpRequest) -> HttpResponse:
    """Where a participant is: at a pause, done, or on another device."""
    place = _own_place(request)
    if place is None:
        named = participants.of_cookie(request.COOKIES.get(participants.COOKIE, ""))
        if named is None or request.user.is_authenticated:
            return render(request, "labeling_ui/panels/no_session.html", status=404)
        participant, link = named
        return render(
            request, "labeling_ui/panels/elsewhere.html", {"study": link.study, "participant": participant}
        )
    if places.settle(place) is not None:
        return redirect("take_part_finish")
    context = {
        "place": place,
        "study": place.participant.rater.study,
        "done": places.answered(place),
        "can_return": place.state == Place.State.WORKING,
        "can_go_on": place.state == Place.State.WORKING or (place.link.may_return and place.link.is_open),
    }
    return render(request, "labeling_ui/panels/pause.html", context)


@never_cache
@require_POST
def go_on_here(request: HttpRequest) -> HttpResponse:
    """Take the session over to this browser, or begin again after a return."""
    named = participants.of_cookie(request.COOKIES.get(participants.COOKIE, ""))
    if named is None:
        return redirect("take_part")
    participant, link = named
    try:
        return _start_session(request, link, participants.go_on_here(participant, link))
    except Conflict as refusal:
        return _problem(request, link, refusal.code, Arrival(participant.external_id))


@never_cache
@require_POST
def return_place(request: HttpRequest) -> HttpResponse:
    if (place := _own_place(request)) is not None:
        places.give_back(place)
    return redirect("take_part")


@never_cache
@require_safe
@_may_send_there
def finish(request: HttpRequest) -> HttpResponse:
    """The end of a batch: its code and the way back; or back to work while something is left."""
    place = _own_place(request)
    if place is None:
        return redirect("take_part")
    leaving = places.settle(place)
    if leaving is None and place.state == Place.State.WORKING:
        if not _queue_is_empty(request, place):
            return redirect("work", place.participant.rater.study.slug)
        leaving = places.complete_early(place)
    if leaving is None:
        return redirect("take_part")
    context = {
        "place": place,
        "study": place.participant.rater.study,
        "leaving": leaving,
        "step": _step_at_end(place),
        "done": places.answered(place),
        "another": _next_batch(place),
        "panel": place.link.get_panel_display(),
        **_mturk_form(place),
    }
    return render(request, "labeling_ui/panels/finish.html", context)


def _step_at_end(place: Place) -> str:
    """The step that a participant did not pass, as their last page says it; empty for whoever ended otherwise."""
    if place.state != Place.State.SCREENED_OUT:
        return ""
    step = path.next_step(place.participant.rater)
    return step.code if step is not None and step.ends_participation else ""


def _queue_is_empty(request: HttpRequest, place: Place) -> bool:
    try:
        _rater, lease = leases.lease_next(request.user, place.participant.rater.study.slug)
    except DomainError:
        return False  # a step before the work is due: the work page leads there
    return lease is None


def _next_batch(place: Place) -> bool:
    study = place.participant.rater.study
    return (
        place.state == Place.State.COMPLETED
        and place.number < place.link.max_batches
        and place.link.is_open
        and study.state == Study.State.RUNNING
    )


@never_cache
@require_POST
def another_batch(request: HttpRequest) -> HttpResponse:
    place = _own_place(request)
    if place is None or not _next_batch(place):
        return redirect("take_part")
    participant = place.participant
    try:
        participants.begin(place.link, Arrival(participant.external_id, place.parameters), keep_session=True)
    except Conflict as refusal:
        return _problem(request, place.link, refusal.code, Arrival(participant.external_id))
    return redirect("work", participant.rater.study.slug)


# ── Mechanical Turk ────────────────────────────────────────────────────────────
# Its frame is on a page of another site, where browsers hand out no cookies: the work is done in a tab of its own, and
# the frame asks by its own address whether it is done.


@xframe_options_exempt
@_may_be_framed
@_may_send_there
def _mturk_frame(request: HttpRequest, link: PanelLink, arrived: Arrival) -> HttpResponse:
    place = None
    if arrived.participant_id:
        place = _places_of(link, arrived.participant_id).first()
    query = {**request.GET.dict(), IN_TAB: "1"}
    context: dict[str, Any] = {
        "link": link,
        "study": link.study,
        "problem": arrived.problem,
        "place": place,
        "tab": f"{reverse('enter_panel', args=[link.token])}?{urlencode(query)}",
        "leaving": None,
    }
    # Only whoever names the assignment sees how it ended: ids of workers are no secret.
    assignment = request.GET.get("assignmentId")
    if place is not None and assignment and place.parameters.get("assignmentId") == assignment:
        context |= {"leaving": places.settle(place), "done": places.answered(place), **_mturk_form(place)}
    part = "mturk_part" if request.headers.get("HX-Request") == "true" else "mturk"
    return render(request, f"labeling_ui/panels/{part}.html", context)


def _places_of(link: PanelLink, external_id: str) -> Any:
    of_participant = Participant.objects.filter(
        study_id=link.study_id, panel=link.panel, external_id=external_id
    )
    return (
        Place.objects.filter(participant__in=of_participant)
        .select_related("link", "participant__rater__study")
        .order_by("-number")
    )


def _mturk_form(place: Place) -> dict[str, str]:
    """The form that tells Mechanical Turk that the work is done; nothing for any other host or panel."""
    if place.link.panel != PanelLink.Panel.MTURK:
        return {}
    return {
        "form_address": mturk_form_address(place.parameters.get("turkSubmitTo", "")),
        "assignment_id": place.parameters.get("assignmentId", ""),
    }
