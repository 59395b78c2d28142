"""What a finished training leaves: a folder of the model, and beside it the record by which it is known again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from scoring.training.contract import Trained

_MODEL, _RECORD = "model", "trained.json"


def leave(
    work: Path, *, fingerprint: str, record: Mapping[str, Any], save: Callable[[Path], None]
) -> Trained:
    """`save` writes the model into the folder that it is given. What is there under its own name is whole."""
    part = work / f".{_MODEL}.part"
    shutil.rmtree(part, ignore_errors=True)
    save(part)
    shutil.rmtree(work / _MODEL, ignore_errors=True)
    part.rename(work / _MODEL)
    written = work / f".{_RECORD}.part"
    written.write_text(json.dumps({"fingerprint": fingerprint, "record": record}), encoding="utf-8")
    written.replace(work / _RECORD)
    return Trained(work / _MODEL, record)


def left(work: Path, *, fingerprint: str) -> Trained | None:
    """What this training came to before, where it is called again although it had ended."""
    if not (work / _RECORD).is_file() or not (work / _MODEL).is_dir():
        return None
    found = json.loads((work / _RECORD).read_text(encoding="utf-8"))
    return Trained(work / _MODEL, found["record"]) if found["fingerprint"] == fingerprint else None
