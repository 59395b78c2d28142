"""Authentication of the API: bearer tokens and their scopes, sessions, and throttling.

A view says which scope its writing methods need (`writes`); reading needs `read`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from django.conf import settings
from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from annotation.access import tokens
from annotation.access.sign_in import account_key, client_address
from annotation.access.tokens import TokenInUse
from annotation.models import User
from annotation.models.api import Scope
from annotation.rate_limits import Rate, RateLimiter

if TYPE_CHECKING:
    from rest_framework.views import APIView


# Limits on how often the API may be called: per token or account, by what the call asks for. See
# docs/api.md. Counted in each server process for itself, so that they cost no query: with two processes a
# caller may get twice as far before it hears 429. They keep one program from crowding out the rest; they
# are no bookkeeping.


call_limiter = RateLimiter()
invalid_token_limiter = RateLimiter()


def _scope_needed(request: Request, view: APIView) -> str:
    return Scope.READ if request.method in SAFE_METHODS else getattr(view, "writes", Scope.MANAGE)


class ByCaller(BaseThrottle):
    def allow_request(self, request: Request, view: APIView) -> bool:
        group = _scope_needed(request, view)
        rate = Rate(n=settings.API_CALLS_PER_MINUTE[group], seconds=60)
        self._wait = call_limiter.take(f"{group} {_caller_key(request)}", rate, now=time.monotonic())
        return self._wait == 0

    def wait(self) -> float:
        return self._wait


def count_invalid_token(request: Request) -> None:
    """Count an invalid token by where it came from; raises Throttled for whoever seems to be guessing."""
    rate = Rate(n=settings.API_CALLS_PER_MINUTE["refused"], seconds=60)
    if wait := invalid_token_limiter.take(client_address(request._request), rate, now=time.monotonic()):
        raise exceptions.Throttled(wait)


def _caller_key(request: Request) -> str:
    if isinstance(request.auth, TokenInUse):
        return f"token {request.auth.id}"
    return f"user {request.user.pk}" if request.user.is_authenticated else client_address(request._request)


# Signing in with a token: `Authorization: Bearer concord_…`. Such requests carry no cookie and need no CSRF
# token.


class BearerToken(BaseAuthentication):
    """Named first in the settings: whoever is not signed in hears 401, and to sign in like this."""

    def authenticate(self, request: Request) -> tuple[User, TokenInUse] | None:
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        account = tokens.authenticate_token(secret.strip())
        if account is None:
            count_invalid_token(request)
            raise exceptions.AuthenticationFailed(
                "This token is not valid (any more): it may have expired or been revoked. Make a new one."
            )
        return account

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="Concord"'


# A page goes on working for the account it was opened by, also when another has signed in beside it.


# What a page may send: the key of the account it was opened by.
ACCOUNT_HEADER = "X-Concord-Account"


class OtherAccount(exceptions.PermissionDenied):
    default_code = "other_account"
    default_detail = "Another account is signed in now. Sign in again with the one that opened this page."


class SameAccount(BasePermission):
    """Refuse a request made for another account than the session's: one rater's vote must not go under another's."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        named = request.headers.get(ACCOUNT_HEADER)
        if named is not None and named != account_key(request.user):
            raise OtherAccount
        return True


__all__ = ["Scope", "ScopeMissing", "TokenScope"]


class ScopeMissing(exceptions.PermissionDenied):
    default_code = "scope_missing"

    def __init__(self, scope: str) -> None:
        super().__init__(
            f"This token lacks the scope `{scope}`. Make one that has it, on the page of your tokens."
        )


class TokenTooNarrow(exceptions.PermissionDenied):
    default_code = "token_limited"
    default_detail = "This token is limited to some studies, and this is about the whole account."


class SessionNeeded(exceptions.PermissionDenied):
    default_code = "session_needed"
    default_detail = "Tokens cannot do this: sign in with the browser."


class TokenScope(BasePermission):
    """Refuse what the token of a request was not made for. What is asked of a session is nothing."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        token = request.auth
        if not isinstance(token, TokenInUse):
            return True
        needed = _scope_needed(request, view)
        if needed not in token.scopes:
            raise ScopeMissing(needed)
        if request.method in SAFE_METHODS:
            return True
        if getattr(view, "asks_session", False):
            raise SessionNeeded
        if token.study_ids is not None and getattr(view, "of_account", False):
            raise TokenTooNarrow
        return True
