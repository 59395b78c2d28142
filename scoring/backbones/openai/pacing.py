"""Rate limit of a server's requests, shared by all processes of a machine through a file."""

from __future__ import annotations

import fcntl
import hashlib
import math
import time
from pathlib import Path

_SECONDS = 60.0
# A waiting request looks again after so long at most, should a clock have been set back.
_LONGEST_WAIT_S = 60.0


class Pacing:
    """Requests to one server begin at least 60 / per_minute seconds apart, retries included, whichever process sends
    them. The file holds when the next may begin. Nothing is reserved: a process that dies while it waits costs no
    turn."""

    def __init__(self, folder: Path, server: str, *, per_minute: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / f"{hashlib.sha256(server.encode()).hexdigest()[:32]}.next"
        self._seconds_apart = _SECONDS / per_minute

    def wait(self) -> None:
        """Return when a request may be sent."""
        while (seconds := self._seconds_to_wait()) > 0:
            time.sleep(seconds)

    def _seconds_to_wait(self) -> float:
        """0 where it is this request's turn, which is then taken."""
        with self._path.open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            now = time.time()
            left = _number(file.read()) - now
            if 0 < left <= max(_LONGEST_WAIT_S, self._seconds_apart):
                return min(left, _LONGEST_WAIT_S)
            # As if sent when its turn came, or just now where nobody has waited: pauses earn no burst.
            begun = now + left if -self._seconds_apart < left <= 0 else now
            file.seek(0)
            file.truncate()
            file.write(repr(begun + self._seconds_apart))
        return 0.0


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        return 0.0
    return number if math.isfinite(number) else 0.0
