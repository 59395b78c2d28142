"""Raters of a study over the API: list, pause, withdraw."""

from __future__ import annotations

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access
from annotation.api import paging
from annotation.api.paging import page_of
from annotation.api.serializers import In, Out, operation
from annotation.listening import checks
from annotation.models import ListeningCheck, Rater, RaterWithdrawal
from annotation.raters import withdrawal
from annotation.studies import members


class RaterChangeIn(In):
    state = serializers.ChoiceField(Rater.State.choices)
    reason = serializers.CharField(max_length=2000)


class RaterWithdrawalIn(In):
    mode = serializers.ChoiceField(RaterWithdrawal.Mode.choices)
    note = serializers.CharField(
        default="",
        allow_blank=True,
        max_length=2000,
        help_text="For the record: how the person asked for it.",
    )


class WithdrawalOut(serializers.Serializer):
    job = serializers.UUIDField(
        help_text="Takes what they said out of the figures; all else is in force now."
    )
    state = serializers.CharField()
    mode = serializers.ChoiceField(RaterWithdrawal.Mode.choices)
    withdrawn_at = serializers.DateTimeField()


class RaterOut(Out):
    shape = Rater
    shown = "pseudonym state origin n_judgments n_surplus n_skips last_judgment_at created_at"
    notes = {"n_judgments": "That count: effective and not excluded."}


class FinishedCheckOut(serializers.Serializer):
    kind = serializers.ChoiceField(ListeningCheck.Kind.choices)
    state = serializers.CharField(help_text="passed or failed")
    finished_at = serializers.DateTimeField()


class RaterInFullOut(RaterOut):
    n_excluded = serializers.IntegerField(help_text="Judgments of theirs that are kept out of analysis.")
    checks = FinishedCheckOut(many=True, help_text="The latest listening checks that they finished.")


# How many of a rater's latest listening checks are told.
N_LATEST_CHECKS = 20


class RatersView(APIView):
    @operation("raters", page_of(RaterOut), 400, 403, 404, parameters=paging.PARAMETERS)
    def get(self, request: Request, slug: str) -> Response:
        """The raters of a study, under their pseudonyms."""
        study = access.managed_study(request.user, slug)
        return Response(paging.page(request, study.raters.all(), RaterOut))


class RaterView(APIView):
    @operation("rater", RaterInFullOut, 403, 404)
    def get(self, request: Request, slug: str, pseudonym: str) -> Response:
        """One rater: how much they said, how much of it is kept out, and how their listening checks went."""
        rater = access.rater_by_pseudonym(request.user, slug, pseudonym)
        done = checks.finished_checks(rater.study).filter(rater=rater).order_by("-finished_at")
        rater.n_excluded = rater.judgments.filter(excluded=True).count()  # type: ignore[attr-defined]
        rater.checks = list(done[:N_LATEST_CHECKS])  # type: ignore[attr-defined]
        return Response(RaterInFullOut(rater).data)

    @operation("change_rater", RaterOut, 400, 403, 404, request=RaterChangeIn)
    def patch(self, request: Request, slug: str, pseudonym: str) -> Response:
        """Pause, exclude or reinstate a rater. Judgments already given are excluded at …/exclusions/."""
        rater = access.rater_by_pseudonym(request.user, slug, pseudonym)
        members.set_rater_state(rater, actor=request.user, **RaterChangeIn.parsed(request.data))
        return Response(RaterOut(rater).data)


class WithdrawalView(APIView):
    @operation("withdraw_rater", WithdrawalOut, 400, 403, 404, 409, status=202, request=RaterWithdrawalIn)
    def post(self, request: Request, slug: str, pseudonym: str) -> Response:
        """Take a rater out of the study at their own wish. This cannot be undone: nothing that they said counts or is
        exported or released under their name from now on."""
        rater = access.rater_by_pseudonym(request.user, slug, pseudonym)
        row, job = withdrawal.withdraw(rater, actor=request.user, **RaterWithdrawalIn.parsed(request.data))
        body = {
            "job": job.pk,
            "state": job.state,
            "mode": row.mode,
            "withdrawn_at": row.withdrawn_at,
        }
        return Response(WithdrawalOut(body).data, status=202)
