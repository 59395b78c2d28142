"""Members of a study and invitations to it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache

from annotation import access
from annotation.errors import Conflict
from annotation.mail import outbox
from annotation.models import Study
from annotation.models.people import Role
from annotation.studies import members as service
from labeling_ui.domain_errors import errors_as_messages, errors_in_form
from labeling_ui.page_responses import action, button
from labeling_ui.study.forms import InvitationForm, RoleForm

INVITATIONS_SHOWN = 50


@login_required
@never_cache
def people(request: HttpRequest, slug: str) -> HttpResponse:
    """A new invitation's link stands in the answer to its POST and nowhere else: it cannot be shown again."""
    mine = access.managed_access(request.user, slug)
    study, is_admin = mine.study, request.user.is_superuser or mine.role == Role.ADMIN
    form, link, outcome = InvitationForm(request.POST or None, grants_any_role=is_admin), None, None
    if form.is_valid():
        with errors_in_form(form):
            link, outcome = _invite(request, study, **form.cleaned_data)
            form = InvitationForm(grants_any_role=is_admin)
    context = {
        "study": study,
        "members": list(service.with_pseudonyms(study).order_by("user__name", "user__email")),
        "is_admin": is_admin,
        "form": form,
        "link": link,
        "outcome": outcome,
        "invitations": service.with_acceptances(study)[:INVITATIONS_SHOWN],
    }
    return render(request, "labeling_ui/study/people/people.html", context)


def _invite(
    request: HttpRequest, study: Study, *, emails: list[str], max_uses: int, **options: Any
) -> tuple[str | None, service.Invited | None]:
    """A link to copy, or what became of the addresses."""

    def join_link(token: str) -> str:
        return outbox.address_by(request, reverse("join", args=[token]))

    if emails:
        return None, service.invite_by_mail(
            study, emails=emails, actor=request.user, join_link=join_link, **options
        )
    _invitation, token = service.invite(study, actor=request.user, max_uses=max_uses, **options)
    return join_link(token), None


revoke_invitation = button(
    access.invitation_of,
    service.revoke_invitation,
    gettext_lazy("The invitation is withdrawn. Those who joined by it stay."),
    to="people",
    of="slug",
)


@login_required
def member(request: HttpRequest, slug: str, member_id: int) -> HttpResponse:
    """What one member may do here: admins change it."""
    membership = access.membership_of(request.user, slug, member_id)
    form = RoleForm(request.POST or None, initial={"role": membership.role})
    if form.is_valid():
        with errors_in_form(form, Conflict, field="role"):
            service.add_member(membership.study, membership.user, actor=request.user, **form.cleaned_data)
            messages.success(request, _("The role is changed."))
            return redirect("people", slug)
    context = {"study": membership.study, "membership": membership, "form": form}
    return render(request, "labeling_ui/study/people/member.html", context)


@action
def remove_member(request: HttpRequest, slug: str, member_id: int) -> HttpResponse:
    membership = access.membership_of(request.user, slug, member_id)
    with errors_as_messages(request, Conflict):
        service.remove_member(membership, actor=request.user)
        messages.success(request, _("%(name)s is no longer a member.") % {"name": membership.user})
        return redirect("home") if membership.user == request.user else redirect("people", slug)
    return redirect("member", slug, member_id)
