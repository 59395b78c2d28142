"""Workspaces over the API: their people, invitations and studies."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access
from annotation.api import paging
from annotation.api.paging import page_of
from annotation.api.serializers import In, Out, operation
from annotation.mail import outbox
from annotation.models import Invitation, User, Workspace, WorkspaceMembership
from annotation.models.people import MANAGING_ROLES, Role
from annotation.studies import members, workspaces
from annotation.studies.api import (
    InvitationIn,
    InvitationOut,
    InvitedOut,
    MailInvitationIn,
    MemberChangeIn,
    NewInvitationOut,
    StudyOut,
)


class WorkspaceIn(In):
    slug = serializers.SlugField(max_length=80)
    title = serializers.CharField(max_length=200)
    description = serializers.CharField(default="", allow_blank=True, max_length=20_000)


class WorkspaceChangeIn(In):
    title = serializers.CharField(required=False, max_length=200)
    description = serializers.CharField(required=False, allow_blank=True, max_length=20_000)


class WorkspaceOut(Out):
    shape, shown = Workspace, "slug title description role n_people n_studies created_at"
    role = serializers.ChoiceField(Role.choices, help_text="Yours in this workspace.")
    n_people = serializers.IntegerField(allow_null=True, help_text="Null: you only rate in it.")
    n_studies = serializers.IntegerField(help_text="Those that you run.")


class WorkspaceMemberOut(Out):
    shape, shown = WorkspaceMembership, "id name email role created_at"
    name = serializers.CharField(source="user.name")
    email = serializers.EmailField(source="user.email")


class StudyWorkspaceIn(In):
    workspace = serializers.SlugField(allow_null=True, max_length=80, help_text="Null: none.")


def _shown(user: User, slug: str) -> dict[str, Any]:
    shown = workspaces.with_counts(access.workspaces_of(user), user).get(slug=slug)
    return dict(WorkspaceOut(shown).data)


class WorkspacesView(APIView):
    of_account = True

    @operation("workspaces", page_of(WorkspaceOut), 400, 403, parameters=paging.PARAMETERS)
    def get(self, request: Request) -> Response:
        """The workspaces that you take part in."""
        visible = workspaces.with_counts(access.workspaces_of(request.user), request.user)
        return Response(paging.page(request, visible, WorkspaceOut))

    @operation("create_workspace", WorkspaceOut, 400, 403, 409, status=201, request=WorkspaceIn)
    def post(self, request: Request) -> Response:
        """Make a workspace; you are its admin."""
        made = workspaces.create_workspace(actor=request.user, **WorkspaceIn.parsed(request.data))
        return Response(_shown(request.user, made.slug), status=201)


class WorkspaceView(APIView):
    of_account = True

    @operation("workspace", WorkspaceOut, 403, 404)
    def get(self, request: Request, workspace: str) -> Response:
        """A workspace, to its researchers and admins."""
        access.workspace_of(request.user, workspace)
        return Response(_shown(request.user, workspace))

    @operation("change_workspace", WorkspaceOut, 400, 403, 404, request=WorkspaceChangeIn)
    def patch(self, request: Request, workspace: str) -> Response:
        """Change title or description."""
        target = access.administered_workspace(request.user, workspace)
        workspaces.change_workspace(target, actor=request.user, **WorkspaceChangeIn.parsed(request.data))
        return Response(_shown(request.user, workspace))

    @operation("delete_workspace", None, 403, 404, 409, status=204)
    def delete(self, request: Request, workspace: str) -> Response:
        """Delete a workspace that holds no study."""
        target = access.administered_workspace(request.user, workspace)
        workspaces.delete_workspace(target, actor=request.user)
        return Response(status=204)


class WorkspaceStudiesView(APIView):
    of_account = True

    @operation(
        "workspace_studies", page_of(StudyOut, "WorkspaceStudyPageOut"), 400, 403, 404,
        parameters=paging.PARAMETERS,
    )  # fmt: skip
    def get(self, request: Request, workspace: str) -> Response:
        """The studies of a workspace that you run."""
        target = access.workspace_of(request.user, workspace).workspace
        studies = access.studies_of(request.user).filter(workspace=target, role__in=MANAGING_ROLES)
        return Response(paging.page(request, studies, StudyOut))


class WorkspaceMembersView(APIView):
    of_account = True

    @operation("workspace_members", page_of(WorkspaceMemberOut), 400, 403, 404, parameters=paging.PARAMETERS)
    def get(self, request: Request, workspace: str) -> Response:
        """The people of a workspace, with their roles in it."""
        target = access.workspace_of(request.user, workspace).workspace
        people = target.memberships.select_related("user")
        return Response(paging.page(request, people, WorkspaceMemberOut))

    @operation("invite_to_workspace", InvitedOut, 400, 403, 404, 409, request=MailInvitationIn)
    def post(self, request: Request, workspace: str) -> Response:
        """A mail to each address, with an invitation for one. Accounts that there are take part at once."""
        target = access.administered_workspace(request.user, workspace)

        def join_link(token: str) -> str:
            return outbox.address_by(request, reverse("join", args=[token]))

        body = MailInvitationIn.parsed(request.data)
        outcome: members.Invited = workspaces.invite_by_mail(
            target, actor=request.user, join_link=join_link, **body
        )
        return Response(InvitedOut(outcome).data)


class WorkspaceMemberView(APIView):
    of_account = True

    @operation("change_workspace_member", WorkspaceMemberOut, 400, 403, 404, 409, request=MemberChangeIn)
    def patch(self, request: Request, workspace: str, member_id: int) -> Response:
        """Give somebody another role in a workspace; it holds in each of its studies that gives them none itself."""
        member = access.workspace_member(request.user, workspace, member_id)
        role = MemberChangeIn.parsed(request.data)["role"]
        changed = workspaces.add_person(member.workspace, member.user, role=role, actor=request.user)
        return Response(WorkspaceMemberOut(changed).data)

    @operation("remove_workspace_member", None, 403, 404, 409, status=204)
    def delete(self, request: Request, workspace: str, member_id: int) -> Response:
        """Remove somebody from a workspace. Roles that a study gave them itself stay."""
        workspaces.remove_person(
            access.workspace_member(request.user, workspace, member_id), actor=request.user
        )
        return Response(status=204)


class OwnWorkspaceMembershipView(APIView):
    of_account = True

    @operation("leave_workspace", None, 403, 404, 409, status=204)
    def delete(self, request: Request, workspace: str) -> Response:
        """Leave a workspace. What you said stays in the data."""
        mine = access.workspace_membership_of(request.user, workspace)
        workspaces.remove_person(mine, actor=request.user)
        return Response(status=204)


class WorkspaceInvitationOut(InvitationOut):
    shape = Invitation


class WorkspaceInvitationsView(APIView):
    of_account = True
    answers_secret = True

    @operation(
        "workspace_invitations", page_of(WorkspaceInvitationOut), 400, 403, 404, parameters=paging.PARAMETERS
    )
    def get(self, request: Request, workspace: str) -> Response:
        """Invitations to a workspace, used and unused."""
        target = access.administered_workspace(request.user, workspace)
        return Response(paging.page(request, target.invitations.all(), WorkspaceInvitationOut))

    @operation(
        "invite_to_workspace_by_link", NewInvitationOut, 400, 403, 404, status=201, request=InvitationIn
    )
    def post(self, request: Request, workspace: str) -> Response:
        """A link that makes whoever opens it take part in a workspace."""
        target = access.administered_workspace(request.user, workspace)
        invitation, token = workspaces.invite(target, actor=request.user, **InvitationIn.parsed(request.data))
        link = request.build_absolute_uri(reverse("join", args=[token]))
        return Response({**InvitationOut(invitation).data, "token": token, "link": link}, status=201)


class WorkspaceInvitationView(APIView):
    of_account = True

    @operation("revoke_workspace_invitation", None, 403, 404, status=204)
    def delete(self, request: Request, workspace: str, invitation_id: int) -> Response:
        """Revoke an invitation. Those who joined by it stay."""
        invitation = access.workspace_invitation(request.user, workspace, invitation_id)
        members.revoke_invitation(invitation, actor=request.user)
        return Response(status=204)


class StudyWorkspaceView(APIView):
    @operation("move_study", StudyOut, 400, 403, 404, 409, request=StudyWorkspaceIn)
    def put(self, request: Request, slug: str) -> Response:
        """Move a study into a workspace, or out of one: for admins of the study and of the workspaces."""
        study = access.administered_study(request.user, slug)
        chosen = StudyWorkspaceIn.parsed(request.data)["workspace"]
        target = access.administered_workspace(request.user, chosen) if chosen else None
        workspaces.move_study(study, target, actor=request.user)
        study.role = Role.ADMIN  # type: ignore[attr-defined]
        return Response(StudyOut(study).data)
