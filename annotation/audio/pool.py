"""Many sound files measured at once, on all cores."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from annotation.audio.errors import AudioError, Limits
from annotation.audio.ingest import AudioFacts, inspect, measure_and_canonicalise

# Below this, starting processes takes longer than they save.
MIN_FILES_FOR_PROCESSES = 16


def measure(path: Path, target: Path | None, limits: Limits) -> AudioFacts | AudioError:
    """The facts of one file, or why it cannot be used. With a `target` the canonical file is written there."""
    try:
        if target is None:
            return inspect(path, limits=limits)
        return measure_and_canonicalise(path, target, limits=limits)
    except AudioError as error:
        return error


@contextmanager
def measuring_pool(n_files: int) -> Iterator[Executor]:
    """A pool to submit `measure` to.

    Threads for few files. Processes for many: Python runs between the steps of decoder, filters and encoder, and
    threads wait for each other there. The processes are spawned, not forked: the caller may have threads and
    connections.
    """
    n_cores = os.cpu_count() or 1
    pool: Executor
    if n_files < MIN_FILES_FOR_PROCESSES or n_cores == 1:
        pool = ThreadPoolExecutor(n_cores)
    else:
        spawn = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(n_cores, mp_context=spawn, initializer=_obey_parent_only)
    with pool:
        yield pool


def _obey_parent_only() -> None:
    """A process of the pool ends when its parent tells it to, or is gone (`kill -9` leaves it no time to tell).

    A worker that was signalled to stop finishes its import first, so a signal to the whole group must not end these.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
