"""Outliving a database that is restarted: what a worker has computed is worth waiting for."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection

T = TypeVar("T")

PATIENCE_SECONDS = 60.0
FIRST_WAIT, LONGEST_WAIT = 0.2, 5.0
_log = logging.getLogger(__name__)


def patiently(step: Callable[[], T], *, again: Callable[[], object] = lambda: None) -> T:
    """Do a step, which must be safe to repeat; on a lost connection, again on a new one, for a minute. `again` comes
    before each further try."""
    until, wait, lost = time.monotonic() + PATIENCE_SECONDS, FIRST_WAIT, False
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
            wait, lost = min(2 * wait, LONGEST_WAIT), True
