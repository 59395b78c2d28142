"""Workspaces: their studies, their people, and the move of a study between them."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.forms.models import model_to_dict
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache

from annotation import access
from annotation.errors import Conflict, InvalidInput, NotAllowed
from annotation.mail import outbox
from annotation.models import Workspace
from annotation.models.people import MANAGING_ROLES, Role
from annotation.review import queue
from annotation.studies import members, study_list
from annotation.studies import workspaces as service
from labeling_ui.domain_errors import errors_as_messages, errors_in_form
from labeling_ui.page_responses import action, button, fresh_page, page_cursor
from labeling_ui.study.forms import InvitationForm, RoleForm
from labeling_ui.study.study_table import StudyListForm, study_rows
from labeling_ui.workspaces.forms import MoveStudyForm, NewWorkspaceForm, WorkspaceForm

WORKSPACES_SHOWN = 50
PEOPLE_SHOWN = 100
INVITATIONS_SHOWN = 50


@fresh_page
def workspaces(request: HttpRequest) -> HttpResponse:
    mine = set(request.user.workspace_memberships.values_list("workspace", flat=True))
    visible = service.with_counts(access.workspaces_of(request.user), request.user)
    page, next_after = _page(request, visible, WORKSPACES_SHOWN)
    rows = [
        {
            "workspace": each,
            "role": Role(each.role),
            "manages": each.role in MANAGING_ROLES,
            "is_member": each.pk in mine,
        }
        for each in page
    ]
    context = {"rows": rows, "next_after": next_after, "may_create": request.user.may_create_studies}
    return render(request, "labeling_ui/workspaces/workspaces.html", context)


def _page(request: HttpRequest, rows: QuerySet[Any], size: int) -> tuple[list[Any], int | None]:
    """By keyset, the first before the later; and what goes into the next request's `after`."""
    page = list(rows.filter(pk__gt=page_cursor(request)).order_by("pk")[: size + 1])
    return page[:size], page[size - 1].pk if len(page) > size else None


@login_required
def new_workspace(request: HttpRequest) -> HttpResponse:
    if not request.user.may_create_studies:
        raise NotAllowed("Your account may not create workspaces; ask an operator for it.")
    form = NewWorkspaceForm(request.POST or None)
    if form.is_valid():
        with errors_in_form(form, Conflict, field="slug"):
            workspace = service.create_workspace(actor=request.user, **form.cleaned_data)
            messages.success(request, _("The workspace is created. Now invite people."))
            return redirect("workspace_people", workspace.slug)
    return render(request, "labeling_ui/workspaces/new.html", {"form": form})


@fresh_page
def workspace(request: HttpRequest, workspace: str) -> HttpResponse:
    """Its studies that this account runs, with how far each is."""
    mine = access.workspace_of(request.user, workspace)
    form = StudyListForm(request.GET)
    page = study_list.managed_studies(
        request.user, form.filters(workspace=mine.workspace.slug), after=form.after()
    )
    context = {
        **_frame(mine),
        "form": form,
        "managed": list(study_rows(page.rows, queue.open_case_counts([row.pk for row in page.rows]))),
        "manages": bool(page.rows) or form.is_active(),
        "more": form.query(after=page.next_after) if page.next_after else "",
    }
    return render(request, "labeling_ui/workspaces/workspace.html", context)


def _frame(mine: access.WorkspaceAccess) -> dict[str, Any]:
    return {"workspace": mine.workspace, "administers": mine.administers}


@login_required
@never_cache
def people(request: HttpRequest, workspace: str) -> HttpResponse:
    """Everybody with their role; admins invite. A new link stands in the answer to its POST and nowhere else."""
    mine = access.workspace_of(request.user, workspace)
    if request.method == "POST" and not mine.administers:
        raise NotAllowed("Only admins of this workspace can do this.")
    form, link, outcome = InvitationForm(request.POST or None, grants_any_role=True), None, None
    if form.is_valid():
        with errors_in_form(form):
            link, outcome = _invite(request, mine.workspace, **form.cleaned_data)
            form = InvitationForm(grants_any_role=True)
    page, next_after = _page(request, mine.workspace.memberships.select_related("user"), PEOPLE_SHOWN)
    invitations = members.with_acceptances(mine.workspace)[:INVITATIONS_SHOWN] if mine.administers else ()
    context = {
        **_frame(mine),
        "people": page,
        "next_after": next_after,
        "form": form,
        "link": link,
        "outcome": outcome,
        "invitations": invitations,
    }
    return render(request, "labeling_ui/workspaces/people.html", context)


def _invite(
    request: HttpRequest, workspace: Workspace, *, emails: list[str], max_uses: int, **options: Any
) -> tuple[str | None, members.Invited | None]:
    """A link to copy, or what became of the addresses."""

    def join_link(token: str) -> str:
        return outbox.address_by(request, reverse("join", args=[token]))

    if emails:
        return None, service.invite_by_mail(
            workspace, emails=emails, actor=request.user, join_link=join_link, **options
        )
    _invitation, token = service.invite(workspace, actor=request.user, max_uses=max_uses, **options)
    return join_link(token), None


revoke_invitation = button(
    access.workspace_invitation,
    members.revoke_invitation,
    gettext_lazy("The invitation is withdrawn. Those who joined by it stay."),
    to="workspace_people",
    of="workspace",
)


@login_required
def person(request: HttpRequest, workspace: str, member_id: int) -> HttpResponse:
    """What one person may do, in the workspace and in each of its studies: admins change it."""
    membership = access.workspace_member(request.user, workspace, member_id)
    form = RoleForm(request.POST or None, initial={"role": membership.role})
    if form.is_valid():
        with errors_in_form(form, Conflict, field="role"):
            service.add_person(membership.workspace, membership.user, actor=request.user, **form.cleaned_data)
            messages.success(request, _("The role is changed."))
            return redirect("workspace_people", workspace)
    context = {
        "workspace": membership.workspace,
        "membership": membership,
        "form": form,
        "roles": service.study_roles(membership, reader=request.user),
    }
    return render(request, "labeling_ui/workspaces/person.html", context)


@action
def remove_person(request: HttpRequest, workspace: str, member_id: int) -> HttpResponse:
    membership = access.workspace_member(request.user, workspace, member_id)
    with errors_as_messages(request, Conflict):
        service.remove_person(membership, actor=request.user)
        messages.success(request, _("%(name)s has left the workspace.") % {"name": membership.user})
        return (
            redirect("workspaces")
            if membership.user == request.user
            else redirect("workspace_people", workspace)
        )
    return redirect("workspace_person", workspace, member_id)


@login_required
def leave(request: HttpRequest, workspace: str) -> HttpResponse:
    """One's own way out, whatever the role."""
    membership = access.workspace_membership_of(request.user, workspace)
    if request.method == "POST":
        with errors_as_messages(request, Conflict):
            service.remove_person(membership, actor=request.user)
            title = membership.workspace.title
            messages.success(request, _("You have left the workspace “%(title)s”.") % {"title": title})
        return redirect("workspaces")
    return render(request, "labeling_ui/workspaces/leave.html", {"workspace": membership.workspace})


@login_required
def workspace_settings(request: HttpRequest, workspace: str) -> HttpResponse:
    mine = access.workspace_of(request.user, workspace)
    if request.method == "POST" and not mine.administers:
        raise NotAllowed("Only admins of this workspace can do this.")
    form = None
    if mine.administers:
        initial = model_to_dict(mine.workspace, list(WorkspaceForm.base_fields))
        form = WorkspaceForm(request.POST or None, initial=initial)
    if form is not None and form.is_valid():
        service.change_workspace(mine.workspace, actor=request.user, **form.cleaned_data)
        messages.success(request, _("Saved."))
        return redirect("workspace_settings", workspace)
    context = {
        **_frame(mine),
        "form": form,
        "is_member": mine.workspace.memberships.filter(user=request.user).exists(),
        "is_empty": not mine.workspace.studies.filter(deleted_at=None).exists(),
    }
    return render(request, "labeling_ui/workspaces/settings.html", context)


@action
def delete_workspace(request: HttpRequest, workspace: str) -> HttpResponse:
    target = access.administered_workspace(request.user, workspace)
    with errors_as_messages(request, Conflict):
        service.delete_workspace(target, actor=request.user)
        messages.success(request, _("The workspace “%(title)s” is deleted.") % {"title": target.title})
        return redirect("workspaces")
    return redirect("workspace_settings", workspace)


@action
def move_study(request: HttpRequest, slug: str) -> HttpResponse:
    """To a workspace of which this account is admin, or out of it."""
    study = access.administered_study(request.user, slug)
    form = MoveStudyForm(request.POST, study=study, user=request.user)
    if not form.is_valid():
        messages.error(request, _("You are not an admin of this workspace, or it does not exist any more."))
        return redirect("settings", slug)
    with errors_as_messages(request, (Conflict, InvalidInput, NotAllowed)):
        service.move_study(study, form.cleaned_data["workspace"], actor=request.user)
        messages.success(request, _("The study is moved. Look at who takes part now."))
        return redirect("people", slug)
    return redirect("settings", slug)
