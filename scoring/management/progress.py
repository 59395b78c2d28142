"""How far a run is, on one line of a terminal."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType

from django.core.management.base import OutputWrapper
from django.db import DatabaseError, connection

from scoring.models import ScoringRun
from scoring.services import runs
from scoring.services.runs import Progress

_EVERY_SECONDS = 0.5
_WIDTH = 79


class ProgressLine:
    """A thread with a database connection of its own: the work goes on in the main one, or in a worker."""

    def __init__(self, tell: Callable[[], str], stream: OutputWrapper, *, shown: bool) -> None:
        self._tell_now, self._stream, self._over = tell, stream, threading.Event()
        self._thread = threading.Thread(target=self._tell, daemon=True) if shown else None

    def __enter__(self) -> ProgressLine:
        if self._thread:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._over.set()
        if self._thread:
            self._thread.join()
            self._write("")

    def _tell(self) -> None:
        try:
            while not self._over.wait(_EVERY_SECONDS):
                try:
                    self._write(self._tell_now())
                except DatabaseError:
                    connection.close()  # restarted; the work waits for it as well
        finally:
            connection.close()

    def _write(self, line: str) -> None:
        self._stream.write(f"\r{line[:_WIDTH]:<{_WIDTH}}\r", ending="")
        self._stream.flush()


def telling(run: ScoringRun) -> Callable[[], str]:
    """How far a scoring run is at the moment of each call."""
    return lambda: describe(ScoringRun.objects.get(pk=run.pk))


def describe(run: ScoringRun) -> str:
    return "waiting for the model" if run.scorer_id is None else in_words(runs.progress(run))


def in_words(now: Progress) -> str:
    words = [f"{now.n_done + now.n_failed} of {now.n_rows}"]
    if now.per_second:
        words.append(f"{now.per_second:.2f} a second")
    if now.seconds_left is not None:
        minutes, seconds = divmod(round(now.seconds_left), 60)
        words.append(f"{minutes // 60}:{minutes % 60:02}:{seconds:02} left")
    if now.n_failed:
        words.append(f"{now.n_failed} failed")
    return ", ".join(words)
