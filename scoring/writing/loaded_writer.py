"""The loaded writer of this process: the last one stays in memory until another is requested."""

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
from scoring.runs.loaded_metric import runtime
from scoring.writing import text_writer
from scoring.writing.contract import Writer as OpenWriter


@dataclass(frozen=True)
class _LoadedWriter:
    settings: str
    writer: OpenWriter
    seconds: float


_lock = threading.Lock()
_last: _LoadedWriter | None = None


def is_loaded(writer: Writer) -> bool:
    return _last is not None and _last.settings == _settings(writer)


def loading_seconds() -> float:
    """How long what is open took to open."""
    return _last.seconds if _last else 0.0


def load(writer: Writer) -> OpenWriter:
    """The writer with its weights in memory. Raises OptionError, SetupError and whatever loading raises."""
    global _last
    with _lock:
        if _last is None or _last.settings != _settings(writer):
            unload()  # the memory is needed by the next
            began = time.monotonic()
            found = text_writer.open_writer(
                writer.writes, writer.backbone, writer.options, writer.prompt or None, runtime()
            )
            _last = _LoadedWriter(_settings(writer), found, time.monotonic() - began)
        return _last.writer


def unload() -> None:
    global _last
    _last = None
    gc.collect()


def identity_digest(identity: Mapping[str, Any]) -> str:
    """Names what wrote a text: whatever could have changed it."""
    return hashlib.sha256(_canonical_json(identity).encode()).hexdigest()


def _settings(writer: Writer) -> str:
    """What decides which model opens, and how; its name and pace do not."""
    return _canonical_json(
        {
            "writes": writer.writes,
            "backbone": writer.backbone,
            "options": writer.options,
            "prompt": writer.prompt,
        }
    )


def _canonical_json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
