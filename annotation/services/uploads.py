"""Sources that come through the browser or the API: kept on disk until their import is over, archives unpacked."""

from __future__ import annotations

import shutil
import stat
import time
import uuid
import zipfile
import zlib
from pathlib import Path, PurePath, PureWindowsPath

from django.conf import settings
from django.core.files.base import File
from django.core.files.storage import FileSystemStorage

from annotation.errors import FieldProblem, InvalidInput
from annotation.models import Job

MAX_ENTRIES = 200_000
LONGEST_NAME = 255
ENCRYPTED = 0x1
# Uploads nobody works on are kept this long: a trial import is repeated for real with the same file.
KEEP_SECONDS = 24 * 3600
# What an archive's table may be called, by format. Formats that are folders of files are not here.
TABLES = {"csv": ".csv", "jsonl": ".jsonl", "cmi-pref": ".jsonl", "aes": ".jsonl"}


def receive(upload: File[bytes], *, format: str) -> Path:
    """Store an uploaded table, or unpack an archive of a table and its audio; the source to import.

    Raises InvalidInput, pointing at the field `file`, for an archive that cannot or must not be unpacked.
    """
    discard_finished()
    folder = _home() / str(uuid.uuid4())
    folder.mkdir(parents=True)
    try:
        if zipfile.is_zipfile(upload):
            _unpack(upload, folder)
            return _source_in(folder, format)
        upload.seek(0)
        return folder / FileSystemStorage(location=folder).save(_short(upload.name or "source"), upload)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


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


def _home() -> Path:
    return Path(settings.HOME) / "uploads"


def _short(name: str) -> str:
    """A name that any file system takes, still known to whoever sent it."""
    path = Path(Path(name).name)
    return f"{path.stem[:50]}{path.suffix[:10]}"


def _unpack(upload: File[bytes], folder: Path) -> None:
    try:
        with zipfile.ZipFile(upload) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            _check_size(entries, folder)
            for entry in entries:
                target = folder / _safe_name(entry)
                target.parent.mkdir(parents=True, exist_ok=True)
                # "x": two entries of one name are a fault, never a silent overwrite.
                with archive.open(entry) as source, target.open("xb") as file:
                    shutil.copyfileobj(source, file)
    except (zipfile.BadZipFile, zlib.error, EOFError, UnicodeDecodeError) as error:
        raise _refused(
            f"The archive cannot be unpacked: {error}", "Make it again, as a plain .zip."
        ) from None
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        raise _refused("Two files in the archive have the same name.", "Keep one of them.") from None


def _check_size(entries: list[zipfile.ZipInfo], folder: Path) -> None:
    """Stated sizes can be trusted as limits: zipfile reads no further than they say."""
    total = sum(entry.file_size for entry in entries)
    limit = min(settings.UPLOAD_MAX_BYTES, shutil.disk_usage(folder).free // 2)
    if total > limit:
        raise _refused(
            f"The archive unpacks to {total / 1e6:,.0f} MB; the limit here is {limit / 1e6:,.0f} MB.",
            "Split it, or import from the command line.",
        )
    if len(entries) > MAX_ENTRIES:
        raise _refused(f"The archive holds {len(entries)} files; the limit is {MAX_ENTRIES}.", "Split it.")


def _safe_name(entry: zipfile.ZipInfo) -> PurePath:
    """The entry's path below the folder. Nothing that leads elsewhere is unpacked, on whatever system it was packed."""
    path = PureWindowsPath(entry.filename)  # takes both kinds of separators, and knows drives
    if path.anchor or ".." in path.parts or not path.parts:
        raise _refused(
            f"The archive holds a file whose path leads out of it: {entry.filename!r}.",
            "Make it from inside the folder, with relative names.",
        )
    if max(len(part.encode()) for part in path.parts) > LONGEST_NAME:
        raise _refused(f"The archive holds a file whose name is too long: {path.name[:40]}….", "Shorten it.")
    if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG):
        raise _refused(f"{entry.filename!r} in the archive is a link, not a file.", "Put the file itself in.")
    if entry.flag_bits & ENCRYPTED:
        raise _refused("The archive is protected by a password.", "Make it without one.")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _refused("The archive is packed in an unusual way.", "Make it again, as a plain .zip.")
    return PurePath(*path.parts)


def _source_in(folder: Path, format: str) -> Path:
    """The table to import; for formats that are folders, the folder that holds the files."""
    folder = _without_wrapping(folder)
    if format not in TABLES:
        return folder
    suffix = TABLES[format]
    tables = sorted(path for path in folder.iterdir() if path.suffix.lower() == suffix)
    if len(tables) == 1:
        return tables[0]
    names = ", ".join(path.name for path in tables[:5])
    problem = f"The archive holds {names}." if tables else f"The archive holds no {suffix} file at its top."
    raise _refused(problem, f"Put one {suffix} file at the top, and the audio beside or below it.")


def _without_wrapping(folder: Path) -> Path:
    """Archives are often made of a folder: then what counts is inside. macOS adds a folder of its own."""
    inside = [path for path in folder.iterdir() if path.name not in ("__MACOSX", ".DS_Store")]
    if len(inside) == 1 and inside[0].is_dir():
        return _without_wrapping(inside[0])
    return folder


def _refused(problem: str, remedy: str) -> InvalidInput:
    return InvalidInput(
        "This upload cannot be imported.", problems=[FieldProblem("file", problem, remedy)], code="bad_upload"
    )
