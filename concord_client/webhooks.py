"""Telling a webhook that a server sent from what somebody else sends."""

from __future__ import annotations

import hashlib
import hmac
import time

from concord_client.errors import SignatureError

TOLERANCE_S = 300


def verify(body: bytes, signature: str, *, secret: str, now: float | None = None) -> None:
    """Raises SignatureError unless `signature`, the delivery's header (t=…,v1=…), vouches for this very body by this
    secret and is not older than five minutes. While secrets change, there are several v1."""
    parts = [part.strip().partition("=") for part in signature.split(",")]
    at = next((value for name, _, value in parts if name == "t"), "")
    if not at.isascii() or not at.isdecimal() or len(at) > 12:
        raise SignatureError("This delivery does not say when it was signed.")
    if abs((time.time() if now is None else now) - int(at)) > TOLERANCE_S:
        raise SignatureError("This delivery was signed too long ago, or not yet.")
    wanted = hmac.new(secret.encode(), at.encode() + b"." + body, hashlib.sha256).hexdigest().encode()
    given = [value.encode() for name, _, value in parts if name == "v1"]
    if not any(hmac.compare_digest(wanted, one) for one in given):
        raise SignatureError("This delivery was not signed with this secret.")
