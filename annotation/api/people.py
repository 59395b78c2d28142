"""Who takes part in a study: raters, members, invitations."""

from __future__ import annotations

from django.db.models import OuterRef, QuerySet, Subquery
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access
from annotation.api import paging
from annotation.api.people_shapes import (
    InvitationIn,
    InvitationOut,
    InvitationPageOut,
    JoinedOut,
    JoinIn,
    MemberChangeIn,
    MemberOut,
    MemberPageOut,
    NewInvitationOut,
    RaterChangeIn,
    RaterInFullOut,
    RaterOut,
    RaterPageOut,
    RaterWithdrawalIn,
    WithdrawalOut,
)
from annotation.api.shapes import problems
from annotation.models import Membership, Rater, Study
from annotation.services import check_standings, people, rater_withdrawals

# How many of a rater's latest listening checks are told.
CHECKS = 20


class RatersView(APIView):
    @extend_schema(
        operation_id="raters",
        parameters=paging.PARAMETERS,
        responses={200: RaterPageOut, **problems(400, 403, 404)},
    )
    def get(self, request: Request, slug: str) -> Response:
        """The raters of a study, under their pseudonyms."""
        study = access.managed_study(request.user, slug)
        return Response(paging.page(request, study.raters.all(), RaterOut))


class RaterView(APIView):
    @extend_schema(operation_id="rater", responses={200: RaterInFullOut, **problems(403, 404)})
    def get(self, request: Request, slug: str, pseudonym: str) -> Response:
        """One rater: how much they said, how much of it is kept out, and how their listening checks went."""
        rater = access.rater_named(request.user, slug, pseudonym)
        done = check_standings.finished(rater.study).filter(rater=rater).order_by("-finished_at")
        rater.n_excluded = rater.judgments.filter(excluded=True).count()  # type: ignore[attr-defined]
        rater.checks = list(done[:CHECKS])  # type: ignore[attr-defined]
        return Response(RaterInFullOut(rater).data)

    @extend_schema(
        operation_id="change_rater",
        request=RaterChangeIn,
        responses={200: RaterOut, **problems(400, 403, 404)},
    )
    def patch(self, request: Request, slug: str, pseudonym: str) -> Response:
        """Pause, exclude or reinstate a rater. Judgments already given are excluded at …/exclusions/."""
        rater = access.rater_named(request.user, slug, pseudonym)
        people.set_rater_state(rater, actor=request.user, **RaterChangeIn.parsed(request.data))
        return Response(RaterOut(rater).data)


class WithdrawalView(APIView):
    @extend_schema(
        operation_id="withdraw_rater",
        request=RaterWithdrawalIn,
        responses={202: WithdrawalOut, **problems(400, 403, 404, 409)},
    )
    def post(self, request: Request, slug: str, pseudonym: str) -> Response:
        """Take a rater out of the study at their own wish. This cannot be undone: nothing that they said counts or is
        exported or released under their name from now on."""
        rater = access.rater_named(request.user, slug, pseudonym)
        made, job = rater_withdrawals.withdraw(
            rater, actor=request.user, **RaterWithdrawalIn.parsed(request.data)
        )
        body = {"job": job.pk, "state": job.state, "mode": made.mode, "withdrawn_at": made.withdrawn_at}
        return Response(WithdrawalOut(body).data, status=202)


class MembersView(APIView):
    @extend_schema(
        operation_id="members",
        parameters=paging.PARAMETERS,
        responses={200: MemberPageOut, **problems(400, 403, 404)},
    )
    def get(self, request: Request, slug: str) -> Response:
        """The accounts that take part in a study."""
        study = access.managed_study(request.user, slug)
        return Response(paging.page(request, _members(study), MemberOut))


class MemberView(APIView):
    @extend_schema(
        operation_id="change_member",
        request=MemberChangeIn,
        responses={200: MemberOut, **problems(400, 403, 404, 409)},
    )
    def patch(self, request: Request, slug: str, member_id: int) -> Response:
        """Give a member another role."""
        member = access.membership_of(request.user, slug, member_id)
        role = MemberChangeIn.parsed(request.data)["role"]
        people.add_member(member.study, member.user, role=role, actor=request.user)
        return Response(MemberOut(_members(member.study).get(pk=member.pk)).data)

    @extend_schema(operation_id="remove_member", responses={204: None, **problems(403, 404, 409)})
    def delete(self, request: Request, slug: str, member_id: int) -> Response:
        """End a membership. What this person said stays in the data."""
        people.remove_member(access.membership_of(request.user, slug, member_id), actor=request.user)
        return Response(status=204)


class InvitationsView(APIView):
    answers_secret = True

    @extend_schema(
        operation_id="invitations",
        parameters=paging.PARAMETERS,
        responses={200: InvitationPageOut, **problems(400, 403, 404)},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Invitations to a study, used and unused; their links cannot be shown again."""
        study = access.managed_study(request.user, slug)
        return Response(paging.page(request, study.invitations.all(), InvitationOut))

    @extend_schema(
        operation_id="invite",
        request=InvitationIn,
        responses={201: NewInvitationOut, **problems(400, 403, 404)},
    )
    def post(self, request: Request, slug: str) -> Response:
        """A link that makes whoever opens it a member. Researchers invite raters; admins anyone."""
        study = access.managed_study(request.user, slug)
        invitation, token = people.invite(study, actor=request.user, **InvitationIn.parsed(request.data))
        link = request.build_absolute_uri(reverse("join", args=[token]))
        return Response({**InvitationOut(invitation).data, "token": token, "link": link}, status=201)


class InvitationView(APIView):
    @extend_schema(operation_id="revoke_invitation", responses={204: None, **problems(403, 404)})
    def delete(self, request: Request, slug: str, invitation_id: int) -> Response:
        """Revoke an invitation. Those who joined by it stay."""
        people.revoke_invitation(access.invitation_of(request.user, slug, invitation_id), actor=request.user)
        return Response(status=204)


class JoinView(APIView):
    of_account = True

    of_account = True

    @extend_schema(operation_id="join", request=JoinIn, responses={200: JoinedOut, **problems(400, 403, 404)})
    def post(self, request: Request) -> Response:
        """Join the study that an invitation is to, by its token: the last part of its link. Members keep their role."""
        membership = people.accept_invitation(JoinIn.parsed(request.data)["token"], request.user)
        return Response({"study": membership.study.slug, "role": membership.role})


def _members(study: Study) -> QuerySet[Membership]:
    raters = Rater.objects.filter(study=study, user=OuterRef("user"))
    return study.memberships.select_related("user").annotate(pseudonym=Subquery(raters.values("pseudonym")))
