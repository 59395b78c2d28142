"""A bounded LRU cache of clips that are fetched from object storage, for models, which read local files."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from django.conf import settings
from django.core.files.storage import default_storage

from annotation.models import Clip

# What was asked for so recently may be waiting to be heard.
_IN_USE_S = 24 * 3600
_TIDY_EVERY = 200
_fetched = 0


def local_original(clip: Clip) -> Path:
    """The file that was handed in. Where it is gone, so is what this names: whoever opens it says so."""
    name = str(clip.original.name)
    if settings.STORAGE_BUCKET is None:
        return Path(default_storage.path(name))
    path: Path = settings.CLIP_CACHE / clip.sha256[:2] / clip.sha256
    with suppress(FileNotFoundError):
        os.utime(path)  # the last to go
        return path
    with suppress(FileNotFoundError):
        _fetch(name, path)
    return path


def _fetch(name: str, path: Path) -> None:
    """It appears whole: another process may look for it meanwhile."""
    global _fetched
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{uuid4().hex}.part")
    try:
        with default_storage.open(name) as source, part.open("wb") as copy:
            shutil.copyfileobj(source, copy, 1024 * 1024)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    _fetched += 1
    if _fetched % _TIDY_EVERY == 0:
        evict_oldest()


def evict_oldest() -> int:
    """Remove what was not asked for longest, until the rest fits; how many files went."""
    files = sorted(
        ((entry.stat().st_mtime, entry.stat().st_size, entry) for entry in settings.CLIP_CACHE.glob("*/*")),
        key=lambda file_facts: file_facts[0],
    )
    too_much = sum(size for _, size, _ in files) - settings.CLIP_CACHE_BYTES
    n_evicted = 0
    for used_at, size, file in files:
        if too_much <= 0 or used_at > time.time() - _IN_USE_S:
            break
        file.unlink(missing_ok=True)
        too_much -= size
        n_evicted += 1
    return n_evicted
