"""Addresses that hear what happens in a study; and, where they hear it, telling what the server sent from what somebody
else sends."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Iterator, Sequence
from typing import Any

from concord_client.errors import SignatureError
from concord_client.transport import Record, Resource

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
    expected = hmac.new(secret.encode(), at.encode() + b"." + body, hashlib.sha256).hexdigest().encode()
    signatures = [value.encode() for name, _, value in parts if name == "v1"]
    if not any(hmac.compare_digest(expected, one) for one in signatures):
        raise SignatureError("This delivery was not signed with this secret.")


class Webhooks(Resource):
    def all(self, study: str) -> Iterator[Record]:
        """The webhooks of a study, without their secrets."""
        return self._all(_webhook_path(study))

    def get(self, study: str, webhook_id: int) -> Record:
        """One webhook, and whether it gets through."""
        return self._get(_webhook_path(study, webhook_id))

    def add(
        self,
        study: str,
        address: str,
        *,
        events: Sequence[str] = ("*",),
        description: str = "",
        with_answers: bool = False,
    ) -> Record:
        """Tell an address what happens from now on. `secret`, for `verify`, is shown this once. `events` are patterns
        of names: judgment.*, study.state_changed."""
        body = {"address": address, "events": [*events], "description": description}
        return self._send("POST", _webhook_path(study), {**body, "with_answers": with_answers})

    def change(self, study: str, webhook_id: int, **changes: Any) -> Record:
        """Change address, events, description, with_answers, or active: off, it collects nothing."""
        return self._send("PATCH", _webhook_path(study, webhook_id), changes)

    def remove(self, study: str, webhook_id: int) -> None:
        """Remove it, with the log of what was sent."""
        self._transport.request("DELETE", _webhook_path(study, webhook_id))

    def change_secret(self, study: str, webhook_id: int) -> Record:
        """A new `secret`, shown this once. For a day, requests are signed with the one before, too."""
        return self._send("POST", f"{_webhook_path(study, webhook_id)}secret/")

    def resume(self, study: str, webhook_id: int) -> Record:
        """Go on after a pause, with what has happened meanwhile."""
        return self._send("POST", f"{_webhook_path(study, webhook_id)}resume/")

    def test(self, study: str, webhook_id: int) -> Record:
        """Send the event webhook.test: the delivery, which is on its way."""
        return self._send("POST", f"{_webhook_path(study, webhook_id)}test/")

    def deliveries(self, study: str, webhook_id: int, *, state: str | None = None) -> Iterator[Record]:
        """What was sent and what came back, the newest first."""
        return self._all(f"{_webhook_path(study, webhook_id)}deliveries/", state=state)

    def replay(self, study: str, webhook_id: int, delivery_id: int) -> Record:
        """Send a delivery again, under the same id."""
        return self._send("POST", f"{_webhook_path(study, webhook_id)}deliveries/{delivery_id}/replay/")

    def replay_failed(self, study: str, webhook_id: int) -> int:
        """Send all deliveries again that were given up: how many there are."""
        n: int = self._send("POST", f"{_webhook_path(study, webhook_id)}replay-failed/")["deliveries"]
        return n


def _webhook_path(study: str, webhook_id: int | None = None) -> str:
    return f"studies/{study}/webhooks/" + ("" if webhook_id is None else f"{webhook_id}/")
