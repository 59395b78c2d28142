"""The account of a session without the session middleware: one cached look at the signed cookie, and columns that the
caller's own statement reads of the account."""

from __future__ import annotations

import hmac
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.signed_cookies import SessionStore
from django.core import signing

from annotation.access.sign_in import HAS_SECOND_FACTOR, REQUIRED_OF, SecondFactorBackend
from annotation.models import User

# Of account u, which the statement finds by its id and `u.is_active`.
SESSION_COLUMNS = {
    policy: f"u.password, {HAS_SECOND_FACTOR}, {required}" for policy, required in REQUIRED_OF.items()
}


@dataclass(frozen=True)
class SessionCookie:
    """What a valid session cookie says. Whether the account lets it in is for `lets_in`."""

    user_id: int
    auth_hash: str
    verified: bool
    ends_at: float


def session_of(cookie: str) -> SessionCookie | None:
    """None for a cookie that is not valid (any more), and for one that nobody signed in with."""
    session = _read(cookie)
    return session if session is not None and time.time() < session.ends_at else None


def lets_in(session: SessionCookie, columns: Sequence[Any]) -> bool:
    """Whether a session goes on, by its account's `SESSION_COLUMNS`: its password is the same, and its second factor
    was given. Of all others the ordinary way knows what to answer."""
    password, has_second_factor, is_required = columns
    if has_second_factor and not session.verified:
        return False
    return not (is_required and not has_second_factor) and _is_current(session.auth_hash, password)


@lru_cache(maxsize=4096)
def _read(cookie: str) -> SessionCookie | None:
    store = SessionStore(cookie)
    values = store.load()
    if SESSION_KEY not in values:
        return None
    signed_at = signing.b62_decode(cookie.rsplit(":", 2)[1])
    backend = values.get(BACKEND_SESSION_KEY)
    if backend not in settings.AUTHENTICATION_BACKENDS:
        return None
    return SessionCookie(
        user_id=int(values[SESSION_KEY]),
        auth_hash=values.get(HASH_SESSION_KEY, ""),
        verified=backend == SecondFactorBackend.PATH,
        ends_at=signed_at + store.get_session_cookie_age(),
    )


@lru_cache(maxsize=4096)
def _is_current(auth_hash: str, password: str) -> bool:
    return hmac.compare_digest(auth_hash, User(password=password).get_session_auth_hash())
