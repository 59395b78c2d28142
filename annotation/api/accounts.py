"""A page goes on working for the account it was opened by, also when another has signed in beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rest_framework import exceptions
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from annotation.authentication import account_key

if TYPE_CHECKING:  # views import the settings, and the settings name this module
    from rest_framework.views import APIView

# What a page may send: the key of the account it was opened by.
HEADER = "X-Concord-Account"


class OtherAccount(exceptions.PermissionDenied):
    default_code = "other_account"
    default_detail = "Another account is signed in now. Sign in again with the one that opened this page."


class SameAccount(BasePermission):
    """Refuse a request made for another account than the session's: one rater's vote must not go under another's."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        named = request.headers.get(HEADER)
        if named is not None and named != account_key(request.user):
            raise OtherAccount
        return True
