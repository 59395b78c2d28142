"""Who is alive. Session advisory locks: they last as long as a worker's connection, however that ends."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.db import DatabaseError, connection

_GATE = 7_303_021
# Writing runs are numbered by themselves.
WRITING_GATE = 7_303_023

# The claims whose worker lives: the numbers of all advisory locks of one bigint.
ALIVE = """
SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks
WHERE locktype = 'advisory' AND objsubid = 1 AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


class Claimant:
    """One worker at one run. Rows that carry its number are in its hands for as long as it holds the lock so named."""

    def __init__(self) -> None:
        self.number = secrets.randbits(63)
        self._held_by: Any = None

    def hold(self) -> None:
        """Take the lock, once for each connection: after a lost one, again on the next."""
        connection.ensure_connection()
        if self._held_by is not connection.connection and _ask(
            "SELECT pg_try_advisory_lock(%s)", self.number
        ):
            self._held_by = connection.connection

    def let_go(self) -> None:
        if self._held_by is not None and self._held_by is connection.connection:
            with suppress(DatabaseError):
                _ask("SELECT pg_advisory_unlock(%s)", self.number)
        self._held_by = None


@contextmanager
def gate(run_id: int, *, of: int = _GATE) -> Iterator[bool]:
    """Whether this is the only connection that may load a model for this run. A command that works in the foreground
    keeps the gate to itself: a worker on the same machine then loads no second copy."""
    mine = _ask("SELECT pg_try_advisory_lock(%s, %s)", of, run_id)
    held_by = connection.connection
    try:
        yield mine
    finally:
        if mine and connection.connection is held_by:
            with suppress(DatabaseError):
                _ask("SELECT pg_advisory_unlock(%s, %s)", of, run_id)


def _ask(statement: str, *values: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(statement, list(values))
        return bool(cursor.fetchone()[0])
