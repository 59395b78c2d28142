"""The writer that this process has open: the last one, kept until another is asked for."""

from __future__ import annotations

import gc
import hashlib
import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scoring.models import Writer
from scoring.services.opened import workplace
from scoring.writing import opening
from scoring.writing.contract import Writer as OpenWriter


@dataclass(frozen=True)
class _Opened:
    settings: str
    writer: OpenWriter
    seconds: float


_lock = threading.Lock()
_last: _Opened | None = None


def is_open(writer: Writer) -> bool:
    return _last is not None and _last.settings == _settings(writer)


def seconds_to_open() -> float:
    """How long what is open took to open."""
    return _last.seconds if _last else 0.0


def opened(writer: Writer) -> OpenWriter:
    """The writer with its weights in memory. Raises OptionError, SetupError and whatever loading raises."""
    global _last
    with _lock:
        if _last is None or _last.settings != _settings(writer):
            close()  # the memory is needed by the next
            began = time.monotonic()
            found = opening.open_writer(
                writer.writes, writer.backbone, writer.options, writer.prompt or None, workplace()
            )
            _last = _Opened(_settings(writer), found, time.monotonic() - began)
        return _last.writer


def close() -> None:
    global _last
    _last = None
    gc.collect()


def digest(identity: Mapping[str, Any]) -> str:
    """Names what wrote a text: whatever could have changed it."""
    return hashlib.sha256(_canonical(identity).encode()).hexdigest()


def _settings(writer: Writer) -> str:
    """What decides which model opens, and how; its name and pace do not."""
    return _canonical(
        {
            "writes": writer.writes,
            "backbone": writer.backbone,
            "options": writer.options,
            "prompt": writer.prompt,
        }
    )


def _canonical(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
