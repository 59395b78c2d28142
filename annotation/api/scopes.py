"""What a token may be used for. A view says which scope its writing methods ask for; reading asks for `read`.

    class SkipView(APIView):
        writes = Scope.RATE

Without `writes` a view's writing methods ask for `manage`. Sessions of the browser have every scope.

A view that is about the account and not about a study (making a study, joining one) says `of_account = True`: a token
that is limited to some studies cannot write there. `asks_session = True` keeps every token from writing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rest_framework import exceptions
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from annotation.models.api_token import Scope
from annotation.services.api_tokens import TokenInUse

if TYPE_CHECKING:  # views import the settings, and the settings name this module
    from rest_framework.views import APIView

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
        reads = request.method in SAFE_METHODS
        needed = Scope.READ if reads else getattr(view, "writes", Scope.MANAGE)
        if needed not in token.scopes:
            raise ScopeMissing(needed)
        if not reads and getattr(view, "asks_session", False):
            raise SessionNeeded
        if not reads and token.study_ids is not None and getattr(view, "of_account", False):
            raise TokenTooNarrow
        return True
