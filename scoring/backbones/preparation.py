"""Sounds decoded and transformed in threads, ahead of the model that waits for them."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Generic, TypeVar

from scoring.metrics.contract import Sound

# Two batches of clips: more would only fill the memory of a machine whose model is slower than its decoder.
_AHEAD = 128


T = TypeVar("T")


class Preparation(Generic[T]):
    """Runs `work` for each sound once, ahead of time where told to; exceptions wait for whoever takes the result."""

    def __init__(self, work: Callable[[Sound], T]) -> None:
        self._work = work
        self._pool = ThreadPoolExecutor(min(8, os.cpu_count() or 1), thread_name_prefix="sounds")
        self._begun: OrderedDict[str, Future[T]] = OrderedDict()
        self._lock = Lock()

    def begin(self, sounds: Sequence[Sound]) -> None:
        with self._lock:
            for sound in sounds:
                if sound.sha256 not in self._begun:
                    self._begun[sound.sha256] = self._pool.submit(self._work, sound)
            while len(self._begun) > _AHEAD:
                # Nobody came for it: its run was cancelled, or it asks for more than can be kept.
                self._begun.popitem(last=False)[1].cancel()

    def take(self, sounds: Sequence[Sound]) -> dict[str, Future[T]]:
        """Results by content, each begun by now; they are forgotten here."""
        with self._lock:
            return {
                key: self._taken(key, sound) for key, sound in {one.sha256: one for one in sounds}.items()
            }

    def _taken(self, key: str, sound: Sound) -> Future[T]:
        return self._begun.pop(key) if key in self._begun else self._pool.submit(self._work, sound)
