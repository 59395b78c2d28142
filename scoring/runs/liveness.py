"""Worker liveness: a heartbeat by advisory lock, retry with backoff on a lost connection, graceful shutdown."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from django.db import DatabaseError, InterfaceError, OperationalError, connection

# The claims whose worker lives: the numbers of all advisory locks of one bigint.
LIVE_LOCKS = """
SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks
WHERE locktype = 'advisory' AND objsubid = 1 AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


class LeaseHolder:
    """One worker. Rows that carry its number are leased to it for as long as it holds the advisory lock so numbered."""

    def __init__(self) -> None:
        self.number = secrets.randbits(63)
        self._connection: Any = None

    def hold(self) -> None:
        """Take the lock, once for each connection: after a lost one, again on the next."""
        connection.ensure_connection()
        if self._connection is not connection.connection and _select_bool(
            "SELECT pg_try_advisory_lock(%s)", self.number
        ):
            self._connection = connection.connection

    def release(self) -> None:
        if self._connection is not None and self._connection is connection.connection:
            with suppress(DatabaseError):
                _select_bool("SELECT pg_advisory_unlock(%s)", self.number)
        self._connection = None


@contextmanager
def model_loading_lock(run_id: int, *, lock: int) -> Iterator[bool]:
    """Whether this is the only connection that may load a model for this run. A command that works in the foreground
    holds the lock throughout: a worker on the same machine then loads no second copy."""
    locked = _select_bool("SELECT pg_try_advisory_lock(%s, %s)", lock, run_id)
    holding = connection.connection
    try:
        yield locked
    finally:
        if locked and connection.connection is holding:
            with suppress(DatabaseError):
                _select_bool("SELECT pg_advisory_unlock(%s, %s)", lock, run_id)


def _select_bool(statement: str, *values: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(statement, list(values))
        return bool(cursor.fetchone()[0])


# ── retry with backoff: what a worker has computed outlives a database that is restarted ──

T = TypeVar("T")

RETRY_SECONDS = 60.0
FIRST_BACKOFF, LONGEST_BACKOFF = 0.2, 5.0
_log = logging.getLogger(__name__)


def retry_on_lost_connection(
    step: Callable[[], T], *, on_reconnect: Callable[[], object] = lambda: None
) -> T:
    """Do a step, which must be safe to repeat; on a lost connection, again on a new one, for a minute. `on_reconnect`
    comes before each further try."""
    until, wait, lost = time.monotonic() + RETRY_SECONDS, FIRST_BACKOFF, False
    while True:
        try:
            if lost:
                on_reconnect()
            return step()
        except (OperationalError, InterfaceError) as error:
            if time.monotonic() > until or connection.in_atomic_block:
                raise
            _log.warning(
                "The database does not answer (%s); trying again.", str(error).strip().split("\n")[0]
            )
            connection.close()
            time.sleep(wait)
            wait, lost = min(2 * wait, LONGEST_BACKOFF), True


# ── graceful stop: what a worker cannot finish in time goes back, and does not count as a death ──

STOP_POLL_SECONDS = 0.5
# To finish the batch at hand. Supervisors kill what is still there after eight seconds, or more.
GRACE_SECONDS = 4.0


def run_with_graceful_stop(
    work: Callable[[LeaseHolder], bool],
    *,
    release: Callable[[LeaseHolder], None],
    stopping: Callable[[], bool],
) -> bool:
    """Run `work` and return its result. A thread watches it, and releases the leases when the process is to end and the
    work has not: nobody knows how long a model will take."""
    holder, over = LeaseHolder(), threading.Event()

    def watch() -> None:
        while not over.wait(STOP_POLL_SECONDS):
            if stopping():
                if not over.wait(GRACE_SECONDS):
                    try:
                        release(holder)
                    finally:
                        connection.close()
                return

    watcher = threading.Thread(target=watch, name="stop watch", daemon=True)
    watcher.start()
    try:
        return work(holder)
    finally:
        over.set()
        watcher.join()
