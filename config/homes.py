"""One launcher per home folder: who holds it, and the moment after its last holder is truly gone."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from config import guardian
from config.terminal import say


class Taken(Exception):
    """Another launcher runs in this folder; the text says which and what to do."""


def take(home: Path, *, address: str, pause: Callable[[float], None]) -> IO[str]:
    """Hold `home` for as long as the returned file is open. Raises Taken.

    A launcher that was killed leaves its guardian to stop its children; `pause` is called while that goes on.
    """
    lock = (home / "run.lock").open("a+")
    if not _try(lock):
        lock.seek(0)
        raise Taken(
            f"Concord already runs from {home}: {lock.read().strip() or 'it is just starting'}.\n"
            "Stop it with Ctrl-C where it was started, or set CONCORD_HOME to another folder."
        )
    lock.truncate(0)
    lock.write(f"process {os.getpid()}, {address}\n")
    lock.flush()
    with (home / guardian.LOCK).open("a") as gone:
        deadline = time.monotonic() + 3 * guardian.GRACE_SECONDS
        if not _try(gone):
            say("Waiting for the processes of an earlier run to end …")
        while not _try(gone):
            if time.monotonic() > deadline:
                raise Taken(f"Processes of an earlier run in {home} do not end; end them, then start again.")
            pause(0.1)
    return lock


def _try(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
