"""The loaded writer of this process, and the digest that names what wrote a text."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from scoring.models import Writer
from scoring.runs.model_loading import LoadedModel, canonical_json, runtime
from scoring.writing import text_writer
from scoring.writing.contract import Writer as OpenWriter

LOADED = LoadedModel[OpenWriter]()
loading_seconds, unload = LOADED.loading_seconds, LOADED.unload


def is_loaded(writer: Writer) -> bool:
    return LOADED.is_loaded(_key(writer))


def load(writer: Writer) -> OpenWriter:
    """The writer with its weights in memory. Raises OptionError, SetupError and whatever loading raises."""
    return LOADED.load(
        _key(writer),
        lambda: text_writer.open_writer(
            writer.writes, writer.backbone, writer.options, writer.prompt or None, runtime()
        ),
    )


def identity_digest(identity: Mapping[str, Any]) -> str:
    """Names what wrote a text: whatever could have changed it."""
    return hashlib.sha256(canonical_json(identity).encode()).hexdigest()


def _key(writer: Writer) -> str:
    """The settings that decide which model opens, and how; name and rate limit do not."""
    return canonical_json(
        {name: getattr(writer, name) for name in ("writes", "backbone", "options", "prompt")}
    )
