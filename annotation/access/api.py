"""Personal access tokens over the API: list, create, revoke."""

from __future__ import annotations

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.access import tokens
from annotation.api import paging
from annotation.api.serializers import In, operation
from annotation.models import ApiToken
from annotation.models.api import Scope


class TokenIn(In):
    name = serializers.CharField(max_length=100, help_text="What it is for.")
    scopes = serializers.ListField(
        child=serializers.ChoiceField(Scope.choices), min_length=1, max_length=len(Scope)
    )
    days = serializers.IntegerField(min_value=1, max_value=tokens.MAX_DAYS, help_text="How long it lasts.")
    studies = serializers.ListField(
        child=serializers.SlugField(max_length=100),
        allow_null=True,
        default=None,
        min_length=1,
        max_length=100,
        help_text="Slugs of the studies that it is limited to. Null: all you take part in.",
    )


class TokenOut(serializers.ModelSerializer):
    is_open = serializers.BooleanField(help_text="Neither revoked nor expired.")
    scopes = serializers.ListField(child=serializers.ChoiceField(Scope.choices))
    study_ids = serializers.ListField(child=serializers.IntegerField(), allow_null=True)

    class Meta:
        model = ApiToken
        fields = [
            "id", "name", "prefix", "scopes", "study_ids", "is_open",
            "expires_at", "revoked_at", "last_used_at", "created_at",
        ]  # fmt: skip


class NewTokenOut(TokenOut):
    token = serializers.CharField(help_text="Shown this once: only a digest of it is kept.")

    class Meta(TokenOut.Meta):
        fields = [*TokenOut.Meta.fields, "token"]


class TokensView(APIView):
    asks_session = True
    answers_secret = True

    @operation("tokens", paging.page_of(TokenOut), 400, parameters=paging.PARAMETERS)
    def get(self, request: Request) -> Response:
        """Your tokens, also those that have ended."""
        return Response(paging.page(request, ApiToken.objects.filter(user=request.user), TokenOut))

    @operation("make_token", NewTokenOut, 400, 409, status=201, request=TokenIn)
    def post(self, request: Request) -> Response:
        """Make a token. Only from a session of the browser: a token that leaked must not make others."""
        token, secret = tokens.create_token(request.user, **TokenIn.parsed(request.data))
        return Response({**TokenOut(token).data, "token": secret}, status=201)


class TokenView(APIView):
    of_account = True

    @operation("revoke_token", None, 404, status=204, request=None)
    def delete(self, request: Request, token_id: int) -> Response:
        """Revoke one of your tokens: the next request with it is refused."""
        tokens.revoke_token(request.user, token_id)
        return Response(status=204)
