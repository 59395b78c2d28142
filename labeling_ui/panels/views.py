"""Panel links for those who run a study: the link to paste, its codes and places, and the payment table."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation import access
from annotation.mail.outbox import address_by
from annotation.models import PanelLink, Place
from annotation.panels import links, participants, payments, places
from annotation.panels.rules import link_to_paste, way_back
from labeling_ui.domain_errors import errors_as_messages, errors_in_form
from labeling_ui.page_responses import action, attachment, page_cursor
from labeling_ui.panels.forms import BonusForm, LinkForm, NewLinkForm, ReturnsForm

PAYMENTS_SHOWN = 100


@login_required
@never_cache
def panels(request: HttpRequest, slug: str) -> HttpResponse:
    """The links of a study, a new one, and what participants did."""
    study = access.managed_study(request.user, slug)
    form = NewLinkForm(request.POST or None)
    if form.is_valid():
        with errors_in_form(form):
            link = links.create_link(study, actor=request.user, **form.cleaned_data)
            messages.success(
                request, _("The link is created. Copy it into your panel, and fill in the panel’s codes.")
            )
            return redirect("panel_link", slug, link.pk)
    rows = study.panel_links.annotate(
        n_working=_count(Place.State.WORKING), n_completed=_count(Place.State.COMPLETED)
    )
    after = page_cursor(request)
    batches = list(payments.places_of(study).filter(pk__gt=after)[: PAYMENTS_SHOWN + 1])
    context = {
        "study": study,
        "form": form,
        "links": rows.order_by("pk"),
        "payments": payments.of_places(batches[:PAYMENTS_SHOWN]),
        "next": batches[PAYMENTS_SHOWN - 1].pk if len(batches) > PAYMENTS_SHOWN else 0,
    }
    return render(request, "labeling_ui/panels/panels.html", context)


def _count(state: str) -> Count:
    return Count(
        "taken_places", filter=Q(taken_places__state=state, taken_places__participant__is_test=False)
    )


@login_required
@never_cache
def panel_link(request: HttpRequest, slug: str, link_id: int) -> HttpResponse:
    link = access.panel_link_of(request.user, slug, link_id)
    form = LinkForm(request.POST or None, link=link)
    if form.is_valid():
        with errors_in_form(form):
            links.change_link(link, actor=request.user, **form.settings)
            messages.success(request, _("Saved."))
            return redirect("panel_link", slug, link_id)
    return _render_link(request, link, form=form)


def _render_link(request: HttpRequest, link: PanelLink, *, form: LinkForm, walk: str = "") -> HttpResponse:
    address = address_by(request, reverse("enter_panel", args=[link.token]))
    working = places.taken(link).filter(state=Place.State.WORKING)
    context: dict[str, Any] = {
        "study": link.study,
        "link": link,
        "form": form,
        "address": link_to_paste(address, links.rules_of(link)),
        "walk": walk,
        "returns": ReturnsForm(),
        "n_working": working.count(),
        "n_completed": places.taken(link).count() - working.count(),
        "ways_back": [
            (label, *way_back(link.panel, link.codes[reason], {})) for reason, label in _reasons(link).items()
        ],
    }
    return render(request, "labeling_ui/panels/link.html", context)


def _reasons(link: PanelLink) -> dict[str, str]:
    return {state: str(Place.State(state).label) for state in link.codes}


@action
def walk(request: HttpRequest, slug: str, link_id: int) -> HttpResponse:
    """A link for a test participant: the whole way, and nothing of it counts."""
    link = access.panel_link_of(request.user, slug, link_id)
    address = address_by(request, participants.walk_address(link))
    return _render_link(request, link, form=LinkForm(link=link), walk=address)


@action
def return_places(request: HttpRequest, slug: str, link_id: int) -> HttpResponse:
    link = access.panel_link_of(request.user, slug, link_id)
    form = ReturnsForm(request.POST)
    if form.is_valid():
        n = places.return_places(link, form.cleaned_data["ids"], actor=request.user)
        messages.success(
            request, ngettext("%(n)d place is free again.", "%(n)d places are free again.", n) % {"n": n}
        )
    else:
        messages.error(request, _("Give at least one participant id."))
    return redirect("panel_link", slug, link_id)


@action
def set_bonus(request: HttpRequest, slug: str, place_id: int) -> HttpResponse:
    place = access.place_of(request.user, slug, place_id)
    form = BonusForm(request.POST)
    if form.is_valid():
        with errors_as_messages(request):
            payments.set_bonus(place, actor=request.user, **form.cleaned_data)
            messages.success(request, _("Saved."))
    else:
        messages.error(request, _("Give the bonus as an amount, such as 0.50."))
    return redirect(f"{reverse('panels', args=[slug])}#payments")


@login_required
@require_safe
def payments_file(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    content = payments.as_csv(payments.of_places(payments.places_of(study)))
    return attachment(content, name=f"{study.slug}-payments.csv", content_type="text/csv; charset=utf-8")
