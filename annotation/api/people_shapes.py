"""What the endpoints about people take and give."""

from __future__ import annotations

from rest_framework import serializers

from annotation.api.paging import PageOut
from annotation.api.shapes import In
from annotation.models import ListeningCheck, Rater, RaterWithdrawal
from annotation.models.people import Role


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


class MemberChangeIn(In):
    role = serializers.ChoiceField(Role.choices)


class InvitationIn(In):
    role = serializers.ChoiceField(Role.choices)
    max_uses = serializers.IntegerField(default=1, min_value=1, max_value=10_000)
    days = serializers.IntegerField(default=14, min_value=1, max_value=365)


class JoinIn(In):
    token = serializers.CharField(max_length=200)


class JoinedOut(serializers.Serializer):
    study = serializers.SlugField()
    role = serializers.ChoiceField(Role.choices)


class RaterOut(serializers.Serializer):
    pseudonym = serializers.CharField()
    state = serializers.ChoiceField(Rater.State.choices)
    origin = serializers.ChoiceField(Rater.Origin.choices)
    n_judgments = serializers.IntegerField(help_text="That count: effective and not excluded.")
    n_surplus = serializers.IntegerField()
    n_skips = serializers.IntegerField()
    last_judgment_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()


class FinishedCheckOut(serializers.Serializer):
    kind = serializers.ChoiceField(ListeningCheck.Kind.choices)
    state = serializers.CharField(help_text="passed or failed")
    finished_at = serializers.DateTimeField()


class RaterInFullOut(RaterOut):
    n_excluded = serializers.IntegerField(help_text="Judgments of theirs that are kept out of analysis.")
    checks = FinishedCheckOut(many=True, help_text="The latest listening checks that they finished.")


class RaterPageOut(PageOut):
    results = RaterOut(many=True)


class MemberOut(serializers.Serializer):
    id = serializers.IntegerField()
    name = serializers.CharField(source="user.name")
    email = serializers.EmailField(source="user.email")
    role = serializers.ChoiceField(Role.choices)
    pseudonym = serializers.CharField(allow_null=True, help_text="Of the rater this member is, if any.")
    created_at = serializers.DateTimeField()


class MemberPageOut(PageOut):
    results = MemberOut(many=True)


class InvitationOut(serializers.Serializer):
    id = serializers.IntegerField()
    role = serializers.ChoiceField(Role.choices)
    max_uses = serializers.IntegerField()
    uses = serializers.IntegerField()
    is_open = serializers.BooleanField()
    expires_at = serializers.DateTimeField()
    revoked_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()


class InvitationPageOut(PageOut):
    results = InvitationOut(many=True)


class NewInvitationOut(InvitationOut):
    token = serializers.CharField(help_text="Shown this once: only a digest of it is kept.")
    link = serializers.URLField(help_text="Whoever opens it joins the study.")
