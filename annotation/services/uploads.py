"""Sources that come through the browser or the API: kept on disk until their import is over, archives unpacked."""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.core.files.base import File
from django.utils import timezone

from annotation.models import Job, Upload
from annotation.services import unpacking
from annotation.services.unpacking import refused

# Uploads nobody works on are kept this long: a trial import is repeated for real with the same file.
KEEP_SECONDS = 24 * 3600
# What an archive's table may be called, by format. Formats that are folders of files are not here.
TABLES = {
    "csv": ".csv",
    "tsv": ".tsv",
    "json": ".json",
    "jsonl": ".jsonl",
    "parquet": ".parquet",
    "cmi-pref": ".jsonl",
    "aes": ".jsonl",
    "label-studio": ".json",
}


def receive(upload: File[bytes], *, format: str) -> Path:
    """Store an uploaded table, or unpack an archive of a table and its audio; the source to import.

    Raises InvalidInput, pointing at the field `file`, for an archive that cannot or must not be unpacked.
    """
    kept = keep([(upload.name or "source", upload)])
    try:
        return source(kept, format=format)
    except BaseException:
        shutil.rmtree(kept, ignore_errors=True)
        raise


def keep(files: Sequence[tuple[str, File[bytes]]]) -> Path:
    """Store files by their relative names in a folder of their own, a lone archive unpacked. Returns that folder, or
    the file where there is but one that is no archive.

    Raises InvalidInput as `receive` does, and then nothing is left.
    """
    discard_finished()
    folder = _home() / str(uuid.uuid4())
    folder.mkdir(parents=True)
    try:
        if len(files) == 1 and unpacking.unpack(files[0][1], folder):
            if not _visible(folder):
                raise refused("The archive is empty.", "Put the files in and make it again.")
        else:
            alone = len(files) == 1
            targets = [
                _lay_down(file, folder / (_short(name) if alone else unpacking.below(name, "folder")))
                for name, file in files
            ]
            if len(targets) == 1:
                return targets[0]
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder


def source(kept: Path, *, format: str) -> Path:
    """What an import of this format reads of what was kept: the table, or the folder for formats of many files.

    Raises InvalidInput where there is no such table, or several.
    """
    if kept.is_file():
        return kept
    folder = without_wrapping(kept)
    if format not in TABLES:
        return folder
    suffix = TABLES[format]
    tables = sorted(path for path in _visible(folder) if path.suffix.lower() == suffix)
    if len(tables) == 1:
        return tables[0]
    names = ", ".join(path.name for path in tables[:5])
    problem = f"The archive holds {names}." if tables else f"The archive holds no {suffix} file at its top."
    raise refused(problem, f"Put one {suffix} file at the top, and the audio beside or below it.")


def discard_finished() -> None:
    """Delete uploads that no unfinished import reads."""
    if not _home().is_dir():
        return
    unfinished = Job.objects.filter(kind="import", state__in=Job.UNFINISHED)
    sources = [Path(source) for source in unfinished.values_list("params__source", flat=True)]
    for folder in _home().iterdir():
        old = time.time() - folder.stat().st_mtime > KEEP_SECONDS
        if old and not any(source.is_relative_to(folder) for source in sources):
            shutil.rmtree(folder, ignore_errors=True)
    Upload.objects.filter(created_at__lt=timezone.now() - timedelta(seconds=KEEP_SECONDS)).delete()


def _home() -> Path:
    return Path(settings.HOME) / "uploads"


def _short(name: str) -> str:
    """A name that any file system takes, still known to whoever sent it."""
    path = Path(Path(name).name)
    return f"{path.stem[:50]}{path.suffix[:10]}"


def _lay_down(upload: File[bytes], target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with target.open("xb") as file:
            # The files of a folder are not open; only this reads them.
            for chunk in upload.chunks():
                file.write(chunk)
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        raise refused(f"Two files are called {target.name!r}.", "Keep one of them.") from None
    return target


def without_wrapping(folder: Path) -> Path:
    """Archives are often made of a folder: then what counts is inside."""
    inside = _visible(folder)
    if len(inside) == 1 and inside[0].is_dir():
        return without_wrapping(inside[0])
    return folder


def _visible(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if unpacking.is_ours(path.name)]
