"""What the endpoints about people take and give."""

from __future__ import annotations

from rest_framework import serializers

from annotation.api.paging import PageOut
from annotation.api.shapes import In
from annotation.models import Rater
from annotation.models.people import Role


class RaterChangeIn(In):
    state = serializers.ChoiceField(Rater.State.choices)
    reason = serializers.CharField(max_length=2000)


class MemberChangeIn(In):
    role = serializers.ChoiceField(Role.choices)


class InvitationIn(In):
    role = serializers.ChoiceField(Role.choices)
    max_uses = serializers.IntegerField(default=1, min_value=1, max_value=10_000)
    days = serializers.IntegerField(default=14, min_value=1, max_value=365)


class RaterOut(serializers.Serializer):
    pseudonym = serializers.CharField()
    state = serializers.ChoiceField(Rater.State.choices)
    origin = serializers.ChoiceField(Rater.Origin.choices)
    n_judgments = serializers.IntegerField(help_text="That count: effective and not excluded.")
    n_surplus = serializers.IntegerField()
    n_skips = serializers.IntegerField()
    last_judgment_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()


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
