"""The most memory that a training holds: of the machine while it goes on, and of its GPU.

A worker lives for many trainings, and what its process ever held at most says nothing of one of them. So it is looked
at again and again while the training goes on.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import TracebackType

import torch

from scoring.backbones.loading import device_of
from scoring.services.opened import workplace

_EVERY_SECONDS = 0.1
_PAGES_HELD = Path("/proc/self/statm")


class PeakMemory:
    """Within its block. mb, gpu_mb: so far, in millions of bytes; None where this cannot be told, and without a GPU."""

    def __init__(self) -> None:
        device = device_of(workplace().device)
        self._device = device if device.type == "cuda" else None
        self._most = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="peak-memory", daemon=True)

    def __enter__(self) -> PeakMemory:
        if self._device is not None:
            torch.cuda.reset_peak_memory_stats(self._device)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    @property
    def mb(self) -> float | None:
        self._most = max(self._most, _held())
        return self._most / 1e6 if self._most else None

    @property
    def gpu_mb(self) -> float | None:
        return None if self._device is None else torch.cuda.max_memory_allocated(self._device) / 1e6

    def _look(self) -> None:
        while not self._over.wait(_EVERY_SECONDS):
            self._most = max(self._most, _held())


def _held() -> int:
    """Bytes that this process holds now; 0 where the system does not say."""
    try:
        return int(_PAGES_HELD.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
