"""Limits on how often the API may be called: per token or account, by what the call asks for. See docs/api.md.

Counted in each server process for itself, so that they cost no query: with two processes a caller may get twice as far
before it hears 429. They keep one program from crowding out the rest; they are no bookkeeping.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from django.conf import settings
from rest_framework import exceptions
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from annotation.callers import address_of
from annotation.models.api_token import Scope
from annotation.rules.rates import Meter, Rate
from annotation.services.api_tokens import TokenInUse

if TYPE_CHECKING:  # views import the settings, and the settings name this module
    from rest_framework.views import APIView

calls = Meter()
refused_tokens = Meter()


class ByCaller(BaseThrottle):
    def allow_request(self, request: Request, view: APIView) -> bool:
        group = Scope.READ if request.method in SAFE_METHODS else getattr(view, "writes", Scope.MANAGE)
        rate = Rate(n=settings.API_CALLS_PER_MINUTE[group], seconds=60)
        self._wait = calls.take(f"{group} {_caller(request)}", rate, now=time.monotonic())
        return self._wait == 0

    def wait(self) -> float:
        return self._wait


def note_refused_token(request: Request) -> None:
    """Count a token that was not valid, by where it came from; raises Throttled for whoever seems to be guessing."""
    rate = Rate(n=settings.API_CALLS_PER_MINUTE["refused"], seconds=60)
    if wait := refused_tokens.take(address_of(request._request), rate, now=time.monotonic()):
        raise exceptions.Throttled(wait)


def _caller(request: Request) -> str:
    if isinstance(request.auth, TokenInUse):
        return f"token {request.auth.id}"
    return f"user {request.user.pk}" if request.user.is_authenticated else address_of(request._request)
