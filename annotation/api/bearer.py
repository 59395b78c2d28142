"""Signing in with a token: `Authorization: Bearer concord_…`. Such requests carry no cookie and need no CSRF token."""

from __future__ import annotations

from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from annotation.api import throttling
from annotation.models import User
from annotation.services import api_tokens
from annotation.services.api_tokens import TokenInUse


class BearerToken(BaseAuthentication):
    """Named first in the settings: whoever is not signed in hears 401, and to sign in like this."""

    def authenticate(self, request: Request) -> tuple[User, TokenInUse] | None:
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        found = api_tokens.user_of(secret.strip())
        if found is None:
            throttling.note_refused_token(request)
            raise exceptions.AuthenticationFailed(
                "This token is not valid (any more): it may have expired or been revoked. Make a new one."
            )
        return found

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="Concord"'
