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

_SCORING_LOADING_LOCK = 7_303_021
# Writing runs are numbered by themselves.
WRITING_LOADING_LOCK = 7_303_023

# The claims whose worker lives: the numbers of all advisory locks of one bigint.
LIVE_LOCKS = """
SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks
WHERE locktype = 'advisory' AND objsubid = 1 AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


class LeaseHolder:
    """One worker at one run. Rows that carry its number are in its hands for as long as it holds the lock so named."""

    def __init__(self) -> None:
        self.number = secrets.randbits(63)
        self._held_by: Any = None

    def hold(self) -> None:
        """Take the lock, once for each connection: after a lost one, again on the next."""
        connection.ensure_connection()
        if self._held_by is not connection.connection and _select_bool(
            "SELECT pg_try_advisory_lock(%s)", self.number
        ):
            self._held_by = connection.connection

    def let_go(self) -> None:
        if self._held_by is not None and self._held_by is connection.connection:
            with suppress(DatabaseError):
                _select_bool("SELECT pg_advisory_unlock(%s)", self.number)
        self._held_by = None


@contextmanager
def model_loading_lock(run_id: int, *, of: int = _SCORING_LOADING_LOCK) -> Iterator[bool]:
    """Whether this is the only connection that may load a model for this run. A command that works in the foreground
    keeps the gate to itself: a worker on the same machine then loads no second copy."""
    mine = _select_bool("SELECT pg_try_advisory_lock(%s, %s)", of, run_id)
    held_by = connection.connection
    try:
        yield mine
    finally:
        if mine and connection.connection is held_by:
            with suppress(DatabaseError):
                _select_bool("SELECT pg_advisory_unlock(%s, %s)", of, run_id)


def _select_bool(statement: str, *values: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(statement, list(values))
        return bool(cursor.fetchone()[0])


# Outliving a database that is restarted: what a worker has computed is worth waiting for.


T = TypeVar("T")

RETRY_SECONDS = 60.0
FIRST_BACKOFF, LONGEST_BACKOFF = 0.2, 5.0
_log = logging.getLogger(__name__)


def retry_on_lost_connection(step: Callable[[], T], *, again: Callable[[], object] = lambda: None) -> T:
    """Do a step, which must be safe to repeat; on a lost connection, again on a new one, for a minute. `again` comes
    before each further try."""
    until, wait, lost = time.monotonic() + RETRY_SECONDS, FIRST_BACKOFF, False
    while True:
        try:
            if lost:
                again()
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


# A worker that is asked to end. What it cannot finish in time goes back, and does not count as a death.


STOP_POLL_SECONDS = 0.5
# To finish the batch at hand. Supervisors kill what is still there after eight seconds, or more.
GRACE_SECONDS = 4.0


def run_with_graceful_stop(
    working: Callable[[LeaseHolder], bool],
    *,
    put_down: Callable[[LeaseHolder], None],
    stopping: Callable[[], bool],
) -> bool:
    """What `working` returns. A thread watches it, and puts down what is in hand when the process is to end and the
    work has not: nobody knows how long a model will take."""
    claimant, over = LeaseHolder(), threading.Event()

    def watch() -> None:
        while not over.wait(STOP_POLL_SECONDS):
            if stopping():
                if not over.wait(GRACE_SECONDS):
                    try:
                        put_down(claimant)
                    finally:
                        connection.close()
                return

    watcher = threading.Thread(target=watch, name="stop watch", daemon=True)
    watcher.start()
    try:
        return working(claimant)
    finally:
        over.set()
        watcher.join()
