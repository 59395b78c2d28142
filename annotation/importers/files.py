"""Reading source files so that every fault is a row problem with a remedy, and no file is held whole."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import Any

from annotation.importers import strict_json
from annotation.importers.places import Place
from annotation.importers.records import Audio, RemoteAudio, RowProblem

# A line, or an object, longer than this is a fault of its file; reading it would take the memory of everybody else.
LONGEST = 16 * 1024 * 1024
# Where a sound may be but beside its source, and how an address there is written.
REMOTE = re.compile(r"(?:https?|s3)://", re.IGNORECASE)
ADDRESS = re.compile(r"[a-z0-9]+://[^/\s\x00-\x1f\x7f]+/[^\s\x00-\x1f\x7f]+\Z", re.IGNORECASE)
LONGEST_ADDRESS = 2000
# Of a folder with more files it is not told how a name that is not there is written there.
MOST_NAMES = 100_000
UTF8 = "Save the file as UTF-8 and import it again."
# What a file that is no UTF-8 text begins with, what it then is, and what mends it.
NOT_TEXT = (
    (b"\xff\xfe", "is UTF-16 text, not UTF-8", UTF8),
    (b"\xfe\xff", "is UTF-16 text, not UTF-8", UTF8),
    (b"PK\x03\x04", "is a ZIP archive or an Excel workbook, not text", "Save the table as CSV UTF-8."),
    (b"\xd0\xcf\x11\xe0", "is an Excel workbook, not text", "Save the table as CSV UTF-8."),
    (b"\x1f\x8b", "is packed with gzip", "Unpack it first."),
    (b"PAR1", "is a Parquet file, not text", "Import it as parquet."),
)


def not_text(start: bytes) -> tuple[str, str] | None:
    """What a file with these first bytes is instead of UTF-8 text, and the remedy."""
    for mark, problem, remedy in NOT_TEXT:
        if start.startswith(mark):
            return problem, remedy
    if len(start) >= 4 and b"\0" in (start[0:1], start[1:2]) and start[:2] != b"\0\0":
        return "looks like UTF-16 text, not UTF-8", UTF8
    return None


def raw_lines(path: Path, place: Place | None = None) -> Iterator[tuple[int, bytes] | RowProblem]:
    """Numbered lines of a file, without its byte order mark. What is not text, or has no end, is a problem. From a
    `place` on; it is told of every line that is read."""
    place = place or Place()
    with path.open("rb") as file:
        start = file.peek(4)[:4]
        if found := not_text(start):
            yield RowProblem("1", "", found[0], found[1])
            return
        if start.startswith(b"\xef\xbb\xbf") and not place.offset:
            place.offset = 3
        file.seek(place.offset)
        yield from _bounded(file, place)


def _bounded(file: BufferedReader, place: Place) -> Iterator[tuple[int, bytes] | RowProblem]:
    place.begin()
    number = place.line
    while raw := file.readline(LONGEST + 1):
        number += 1
        place.read(len(raw))
        if len(raw) > LONGEST:
            yield too_long(str(number), "the line")
            return
        yield number, raw


def too_long(row: str, what: str) -> RowProblem:
    return RowProblem(
        row,
        "",
        f"{what} is longer than {LONGEST // 1024**2} MB; nothing after it was read",
        "Is a line break missing, or a quote left open? Keep sounds in files of their own.",
    )


def lines(path: Path, place: Place | None = None) -> Iterator[tuple[int, str] | RowProblem]:
    """Numbered lines of a UTF-8 file (a byte order mark is fine); a line in another encoding is a problem."""
    for line in raw_lines(path, place):
        if isinstance(line, RowProblem):
            yield line
            continue
        try:
            yield line[0], line[1].decode()
        except UnicodeDecodeError as error:
            yield not_utf8(*line, error)


def not_utf8(number: int, raw: bytes, error: UnicodeDecodeError) -> RowProblem:
    place = f"byte {error.start + 1} of the line, 0x{raw[error.start]:02x}"
    return RowProblem(str(number), "", f"is not UTF-8 ({place})", UTF8)


def json_lines(path: Path, place: Place | None = None) -> Iterator[tuple[str, dict[str, Any]] | RowProblem]:
    """The objects of a JSONL file by line number; blank lines are passed over."""
    place = place or Place()
    for line in raw_lines(path, place):
        if isinstance(line, RowProblem):
            yield line
        elif line[1].strip():
            yield _json_object(*line)
        place.advance()


def _json_object(number: int, raw: bytes) -> tuple[str, dict[str, Any]] | RowProblem:
    try:
        value = strict_json.loads(raw)
    except UnicodeDecodeError as error:
        return not_utf8(number, raw, error)
    except strict_json.Fault as fault:
        return RowProblem(str(number), "", fault.problem, fault.remedy)
    if isinstance(value, dict):
        return str(number), value
    return RowProblem(str(number), "", "is not a JSON object", 'Write {"column": value, …} on each line.')


def sound(folder: Path, name: str, *, row: str, field: str) -> Audio | RowProblem:
    """What a cell of an audio column names: a file below `folder`, or an address that is left to be fetched."""
    if not REMOTE.match(name):
        return beside(folder, name, row=row, field=field)
    if len(name) <= LONGEST_ADDRESS and ADDRESS.match(name):
        return RemoteAudio(name)
    remedy = f"Write https://host/path or s3://bucket/key, no blanks, {LONGEST_ADDRESS} characters at most."
    return RowProblem(row, field, f"{name[:80]} is no address of a file", remedy)


def beside(folder: Path, name: str, *, row: str, field: str) -> Path | RowProblem:
    """The file `name` below `folder`. Paths that leave the folder, by links too, are refused, whatever is there."""
    if "\0" in name:
        return RowProblem(row, field, "holds a zero byte", "Mend the path.")
    try:
        path = (folder / name).resolve()
        is_file = path.is_file()
    except (OSError, RuntimeError, UnicodeError):  # a name that no disk takes, links that lead in a circle
        return RowProblem(row, field, f"{name[:80]} cannot be a file here", "Mend the path.")
    if not path.is_relative_to(folder.resolve()):
        return RowProblem(
            row, field, f"{name} is outside the source's folder", "Use a path below the source file."
        )
    if is_file:
        return path
    if other := _in_other_case(path):
        remedy = "Write the name as the file has it."
        return RowProblem(row, field, f"{name} is not there, but {other} is", remedy)
    return RowProblem(
        row, field, f"{name} is not there", f"Put the file at {name} beside the source, or mend the path."
    )


def _in_other_case(path: Path) -> str | None:
    """Names that differ in capitals alone are one name on the systems that many sources come from."""
    try:
        changed = path.parent.stat().st_mtime_ns
        return _names(path.parent, changed).get(path.name.casefold())
    except OSError:  # no folder, or one that cannot be read
        return None


@lru_cache(maxsize=4)
def _names(folder: Path, _changed: int) -> Mapping[str, str]:
    """The names in a folder by how they are without capitals: a source may miss as many as there are. `_changed` is
    when it last was: what was listed before that is out of date.
    """
    with os.scandir(folder) as entries:
        names = [entry.name for entry in islice(entries, MOST_NAMES + 1)]
    if len(names) > MOST_NAMES:
        return {}
    return {name.casefold(): name for name in reversed(names)}


def any_beside(folder: Path, names: Iterable[str]) -> bool:
    """Whether a release that comes without its sounds has been given some of them."""
    return any(isinstance(sound(folder, name, row="", field=""), Audio) for name in names)
