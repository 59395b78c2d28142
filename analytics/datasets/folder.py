"""Dataset folders: complete or not at all, with hashed files and verified copies of clips."""

from __future__ import annotations

import hashlib
import json
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from django.core.files.storage import default_storage

from annotation.errors import InvalidInput

MANIFEST_NAME = "manifest.json"
_CHUNK = 1 << 20
T = TypeVar("T")
# Hears how much is done so far.
OnProgress = Callable[[int], None]


@dataclass(frozen=True)
class WrittenFile:
    """The size and SHA-256 of a written file, and how many rows it has (None where it has none)."""

    bytes: int
    sha256: str
    rows: int | None = None

    def as_json(self) -> dict[str, Any]:
        return {"bytes": self.bytes, "sha256": self.sha256} | (
            {} if self.rows is None else {"rows": self.rows}
        )


class DamagedClipError(Exception):
    """A stored clip cannot be read (`cause`), or its bytes differ from its hash."""

    def __init__(self, cause: OSError | None = None) -> None:
        super().__init__(str(cause or "another hash"))
        self.cause = cause


@dataclass
class ProgressCounter:
    """Adds up what is done, and tells `on_progress` the sum whenever it is a multiple of `every`."""

    on_progress: OnProgress | None
    every: int = 1
    done: int = 0

    def add(self, n: int) -> None:
        self.done += n
        if self.on_progress is not None and self.done % self.every == 0:
            self.on_progress(self.done)

    def over(self, rows: Iterable[T]) -> Iterator[T]:
        for row in rows:
            self.add(1)
            yield row


@contextmanager
def complete_folder(out: Path) -> Iterator[Path]:
    """A hidden folder that becomes `out` at the end of the block; an error leaves nothing behind.

    Raises InvalidInput `not_empty` where `out` is there already and is no empty folder.
    """
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise InvalidInput(
            f"{out} is there already and not an empty folder; name one that is empty or not there yet.",
            code="not_empty",
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = out.parent / f".{out.name}.{uuid.uuid4().hex}"
    partial.mkdir()
    try:
        yield partial
        partial.rename(out)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    text = json.dumps(manifest, ensure_ascii=False, indent=2) + "\n"
    (folder / MANIFEST_NAME).write_text(text, encoding="utf-8")


def hash_file(path: Path, *, rows: int | None = None) -> WrittenFile:
    with path.open("rb") as file:
        return WrittenFile(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest(), rows)


def write_lines(path: Path, lines: Iterable[str]) -> WrittenFile:
    digest, size = hashlib.sha256(), 0
    with path.open("wb") as file:
        for line in lines:
            data = line.encode()
            file.write(data)
            digest.update(data)
            size += len(data)
    return WrittenFile(size, digest.hexdigest())


def copy_clip(stored: str, target: Path, *, sha256: str) -> WrittenFile:
    """Copy a clip out of the storage. Raises DamagedClipError."""
    digest = hashlib.sha256()
    with target.open("wb") as file:
        for chunk in _chunks(stored):
            digest.update(chunk)
            file.write(chunk)
    if digest.hexdigest() != sha256:
        raise DamagedClipError
    return WrittenFile(target.stat().st_size, sha256)


def _chunks(stored: str) -> Iterator[bytes]:
    try:
        with default_storage.open(stored) as source:
            while chunk := source.read(_CHUNK):
                yield chunk
    except OSError as error:
        raise DamagedClipError(error) from error
