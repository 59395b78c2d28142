"""Unpacking of untrusted archives, with guards against zip bombs and path traversal."""

from __future__ import annotations

import gzip
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePath, PureWindowsPath
from typing import IO, Protocol, cast

from django.conf import settings
from django.core.files.base import File

from annotation.errors import FieldProblem, InvalidInput

MAX_ENTRIES = 200_000
MAX_NAME_BYTES = 255
MAX_PATH_BYTES = 1000
ENCRYPTED = 0x1
# Sounds and tables shrink to a twentieth at most; what shrinks to less, and is large, was made to fill a disk.
MAX_COMPRESSION_RATIO = 200
RATIO_FROM_BYTES = 100_000_000
# tarfile reads the headers that carry long names into memory, whatever length they state.
MAX_TAR_READ = 1 << 20
# zipfile reads the list of an archive's files at once, and makes objects of it, before anybody can count them.
MAX_ZIP_READ = 200 * MAX_ENTRIES
ZIP_ENTRY = b"PK\1\2"
ARCHIVES = frozenset({".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar", ".zst"})
WORKBOOK = "[Content_Types].xml"
MAKE_ARCHIVE_AGAIN = "Make it again, as a plain .zip."


def unpack_archive(upload: File[bytes], folder: Path) -> bool:
    """Unpack a .zip, .tar or .tar.gz below `folder`; False, and nothing done, for what is none of these.

    Raises InvalidInput, pointing at the field `file`; what was unpacked by then is the caller's to remove.
    """
    upload.seek(0)
    head = upload.read(512)
    is_zip = zipfile.is_zipfile(upload)
    upload.seek(0)
    if is_zip:
        _unpack_zip(upload, _ExtractionTarget.of(upload, folder))
    elif head.startswith(b"\x1f\x8b"):
        with _damage_as_refusal(), gzip.open(upload) as packed:
            _unpack_tar(packed, _ExtractionTarget.of(upload, folder))
    elif head[257:262] == b"ustar":
        _unpack_tar(upload, _ExtractionTarget.of(upload, folder))
    else:
        return False
    return True


def safe_path_below(name: str, where: str) -> PurePath:
    """A relative path that stays below its folder (no path traversal), whatever system the name comes from."""
    path = PureWindowsPath(name)  # takes both kinds of separators, and knows drives
    if path.anchor or ".." in path.parts or not path.parts or "\0" in name:
        raise upload_refused(
            f"The {where} holds a file whose path leads out of it: {name[:100]!r}.",
            "Make it from inside the folder, with relative names.",
        )
    if max(len(part.encode()) for part in path.parts) > MAX_NAME_BYTES or len(name.encode()) > MAX_PATH_BYTES:
        raise upload_refused(
            f"The {where} holds a file whose name is too long: {path.name[:40]}….", "Shorten it."
        )
    return PurePath(*path.parts)


def upload_refused(problem: str, remedy: str) -> InvalidInput:
    return InvalidInput(
        "This upload cannot be imported.", problems=[FieldProblem("file", problem, remedy)], code="bad_upload"
    )


@dataclass
class _ExtractionTarget:
    """The folder that an archive is unpacked into, and the limits that stop a zip bomb."""

    folder: Path
    packed_bytes: int
    limit: int
    n_bytes: int = 0
    n_entries: int = 0
    seen: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, upload: File[bytes], folder: Path) -> _ExtractionTarget:
        limit = min(settings.UPLOAD_MAX_BYTES, shutil.disk_usage(folder).free // 2)
        return cls(folder, upload.size or 0, limit)

    def count_bytes(self, n_bytes: int) -> None:
        """Stated sizes can be trusted as limits: both readers read no further than they say. One below nothing, which a
        tar can state, would lead its reader back."""
        if n_bytes < 0:
            raise upload_refused("The archive states a size below nothing.", MAKE_ARCHIVE_AGAIN)
        self.n_bytes += n_bytes
        self.n_entries += 1
        size = f"{self.n_bytes / 1e6:,.0f} MB"
        if self.n_bytes > self.limit:
            raise upload_refused(
                f"The archive unpacks to {size} or more; the limit here is {self.limit / 1e6:,.0f} MB.",
                "Split it, or import from the command line.",
            )
        if self.n_bytes > max(RATIO_FROM_BYTES, MAX_COMPRESSION_RATIO * self.packed_bytes):
            times = self.n_bytes // max(1, self.packed_bytes)
            raise upload_refused(
                f"The archive unpacks to {size} or more, {times:,} times its size.",
                "Bring the files themselves, or import from the command line.",
            )
        if self.n_entries > MAX_ENTRIES:
            raise upload_refused(f"The archive holds more than {MAX_ENTRIES:,} files.", "Split it.")

    def extract(self, name: str, source: IO[bytes]) -> None:
        path = safe_path_below(name, "archive")
        if PurePath(name).suffix.lower() in ARCHIVES:
            raise upload_refused(
                f"{name!r} in the archive is an archive again.", "Put its files in, not itself."
            )
        if (doubled := path.as_posix()) in self.seen:
            raise upload_refused(
                f"Two files in the archive have the same name: {doubled!r}.", "Keep one of them."
            )
        self.seen.add(doubled)
        target = self.folder / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            # "x": what is there already is a fault, never a silent overwrite.
            with target.open("xb") as file:
                shutil.copyfileobj(source, file)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            problem = f"Two files in the archive have the same name: {doubled!r}, here."
            raise upload_refused(problem, "Keep one of them.") from None


def is_user_file(name: str) -> bool:
    """macOS adds a folder of its own to archives, and files of its own to folders."""
    parts = PureWindowsPath(name).parts
    return bool(parts) and parts[0] != "__MACOSX" and parts[-1] != ".DS_Store"


def _unpack_zip(upload: File[bytes], target: _ExtractionTarget) -> None:
    bounded = cast(IO[bytes], _BoundedZipFile(upload))
    with _damage_as_refusal(), zipfile.ZipFile(bounded) as archive:
        entries = archive.infolist()
        if any(entry.filename == WORKBOOK for entry in entries):
            raise upload_refused(
                "This is an Excel workbook or another office file.", "Save the table as CSV UTF-8."
            )
        for entry in entries:
            target.count_bytes(entry.file_size)
        for entry in entries:
            if entry.is_dir() or not is_user_file(entry.filename):
                continue
            _check_entry(entry)
            with archive.open(entry) as source:
                target.extract(entry.filename, source)


def _check_entry(entry: zipfile.ZipInfo) -> None:
    name = entry.filename[:100]
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        what = "a link" if kind == stat.S_IFLNK else "a device"
        raise upload_refused(f"{name!r} in the archive is {what}, not a file.", "Put the file itself in.")
    if entry.flag_bits & ENCRYPTED:
        raise upload_refused(f"{name!r} in the archive is protected by a password.", "Make it without one.")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise upload_refused(f"{name!r} in the archive is packed in an unusual way.", MAKE_ARCHIVE_AGAIN)


class _Readable(Protocol):
    def read(self, n_bytes: int = ..., /) -> bytes: ...
    def seek(self, offset: int, whence: int = ..., /) -> int: ...
    def tell(self) -> int: ...


def _unpack_tar(packed: _Readable, target: _ExtractionTarget) -> None:
    with _damage_as_refusal(), tarfile.open(fileobj=_BoundedTarFile(packed), mode="r:") as archive:  # type: ignore[call-overload]
        for member in _members(archive):
            # Before it is passed over: what lies between two members is unpacked on the way to the second.
            target.count_bytes(member.size)
            if member.isdir() or not is_user_file(member.name):
                continue
            if not member.isreg():
                what = "a link" if member.issym() or member.islnk() else "a device"
                problem = f"{member.name[:100]!r} in the archive is {what}, not a file."
                raise upload_refused(problem, "Put the file itself in.")
            source = archive.extractfile(member)
            assert source is not None
            target.extract(member.name, source)


def _members(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    while (member := archive.next()) is not None:
        yield member
        archive.members = []  # type: ignore[attr-defined]  # it would remember them all


class _BoundedTarFile:
    """A file for tarfile that reads no more at once than a header may be long."""

    def __init__(self, file: _Readable) -> None:
        self._file = file
        self.tell, self.seek = file.tell, file.seek

    def read(self, n_bytes: int = -1) -> bytes:
        if not 0 <= n_bytes <= MAX_TAR_READ:
            raise tarfile.ReadError("a header is larger than any name")
        return self._file.read(n_bytes)


class _BoundedZipFile:
    """A file for zipfile that reads no longer list of an archive's files than is taken."""

    def __init__(self, file: File[bytes]) -> None:
        self._file = file
        self.tell, self.seek, self.seekable = file.tell, file.seek, file.seekable

    def read(self, n_bytes: int = -1) -> bytes:
        most = MAX_ZIP_READ + 1
        found: bytes = self._file.read(min(n_bytes, most) if n_bytes >= 0 else most)
        if len(found) > MAX_ZIP_READ or found.count(ZIP_ENTRY) > MAX_ENTRIES:
            raise upload_refused(f"The archive holds more than {MAX_ENTRIES:,} files.", "Split it.")
        return found


@contextmanager
def _damage_as_refusal() -> Iterator[None]:
    """What the readers say of damage, as a refusal."""
    damage = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, UnicodeError, RecursionError)
    try:
        yield
    except (*damage, gzip.BadGzipFile, NotImplementedError, OverflowError) as error:
        raise upload_refused(f"The archive cannot be unpacked: {error}", MAKE_ARCHIVE_AGAIN) from None
