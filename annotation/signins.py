"""Sign-ins, whichever door they come through (the site's, the admin's, an invitation): those that succeed are in the
audit log, and those that fail are limited.

Failures are counted in each server process for itself: with two, whoever guesses has twice as many guesses.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.dispatch import receiver
from django.http import HttpRequest

from annotation import audit
from annotation.callers import address_of
from annotation.models import User
from annotation.rules.rates import Meter, Rate

# Failures within ten minutes: for one account from one address, from one address, for one account from anywhere. The
# last is wide: a guesser must not lock out whose address they know.
PAIR, ADDRESS, ACCOUNT = Rate(10, 600), Rate(50, 600), Rate(200, 600)

failures = Meter()


@receiver(user_logged_in, dispatch_uid="audit_sign_in")
def signed_in(user: User, **kwargs: Any) -> None:
    audit.record("user.signed_in", actor=user, subject=f"user {user.pk}")


@receiver(user_logged_out, dispatch_uid="audit_sign_out")
def signed_out(user: User | None, **kwargs: Any) -> None:
    if user is not None:  # Django also tells of visitors who were not signed in
        audit.record("user.signed_out", actor=user, subject=f"user {user.pk}")


@receiver(user_login_failed, dispatch_uid="count_failed_sign_in")
def failed(credentials: dict[str, Any], request: HttpRequest | None = None, **kwargs: Any) -> None:
    for key, rate in _keys(request, str(credentials.get("username", ""))):
        failures.take(key, rate, now=time.monotonic())


def seconds_to_wait(request: HttpRequest | None, email: str) -> float:
    """How long this account's password is not looked at from there, after too many wrong ones; 0 when it is."""
    now = time.monotonic()
    return max((failures.wait(key, rate, now=now) for key, rate in _keys(request, email)), default=0.0)


def _keys(request: HttpRequest | None, email: str) -> Iterator[tuple[str, Rate]]:
    """What a failed attempt counts against. Without a request (a test, a shell) nobody guesses."""
    if request is not None:
        address, email = address_of(request), email.strip().lower()[:254]
        yield f"{address} {email}", PAIR
        yield address, ADDRESS
        yield email, ACCOUNT
