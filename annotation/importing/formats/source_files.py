"""Source files: bounded reading of lines, path traversal guards, safe YAML; every fault is a row problem."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import count, islice
from pathlib import Path, PureWindowsPath
from typing import Any, BinaryIO

import yaml

from annotation.importing.records import Audio, RemoteAudio, RowProblem, TaskRecord


@dataclass
class ReadPosition:
    """A resumable position in a file of lines: `offset` bytes and `line` lines, where the last processed row ends.

    header: the names of a CSV file's columns. columns: those met so far, with the kinds of their values; reported:
    those of them that were reported as unknown. The last two are replaced, never changed in place, and include the row
    that is being processed.
    """

    offset: int = 0
    line: int = 0
    header: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    reported: tuple[str, ...] = ()
    # Where the row ends that is being dealt with, and what was known of columns before it.
    pending: tuple[int, int] = field(default=(0, 0), repr=False)
    _before: tuple[Mapping[str, str], tuple[str, ...]] = field(default=({}, ()), init=False, repr=False)

    def begin(self) -> None:
        self.pending = self.offset, self.line
        self._before = self.columns, self.reported

    def read(self, n_bytes: int) -> None:
        self.pending = self.pending[0] + n_bytes, self.pending[1] + 1

    def advance(self) -> None:
        """Whoever reads has come back for more: the row before is dealt with."""
        self.offset, self.line = self.pending
        self._before = self.columns, self.reported

    def to_json(self) -> dict[str, Any]:
        """As plain values, to resume from. The row being processed is read and reported again; a source without
        positions (`offset` is 0) is read from its beginning."""
        columns, reported = self._before if self.offset else (self.columns, self.reported)
        return {
            "offset": self.offset,
            "line": self.line,
            "header": self.header,
            "columns": dict(columns),
            "told": reported,
        }


# A line, or an object, longer than this is a fault of its file; reading it would take the memory of everybody else.
MAX_LINE_BYTES = 16 * 1024 * 1024
# Where a sound may be but beside its source, and how an address there is written.
REMOTE_SCHEME = re.compile(r"(?:https?|s3)://", re.IGNORECASE)
REMOTE_ADDRESS = re.compile(r"[a-z0-9]+://[^/\s\x00-\x1f\x7f]+/[^\s\x00-\x1f\x7f]+\Z", re.IGNORECASE)
MAX_ADDRESS_LENGTH = 2000
# Of a folder with more files it is not told how a name that is not there is written there.
MAX_FOLDER_NAMES = 100_000
SAVE_AS_UTF8 = "Save the file as UTF-8 and import it again."
# What a file that is no UTF-8 text begins with, what it then is, and what mends it.
BINARY_SIGNATURES = (
    (b"\xff\xfe", "is UTF-16 text, not UTF-8", SAVE_AS_UTF8),
    (b"\xfe\xff", "is UTF-16 text, not UTF-8", SAVE_AS_UTF8),
    (b"PK\x03\x04", "is a ZIP archive or an Excel workbook, not text", "Save the table as CSV UTF-8."),
    (
        b"\xd0\xcf\x11\xe0",
        "is an Excel workbook of before 2007 (.xls), not text",
        "Save it as .xlsx, or the table as CSV UTF-8.",
    ),
    (b"\x1f\x8b", "is packed with gzip", "Unpack it first."),
    (b"PAR1", "is a Parquet file, not text", "Import it as parquet."),
)


def binary_format(start: bytes) -> tuple[str, str] | None:
    """What a file with these first bytes is instead of UTF-8 text, and the remedy."""
    for mark, problem, remedy in BINARY_SIGNATURES:
        if start.startswith(mark):
            return problem, remedy
    if len(start) >= 4 and b"\0" in (start[0:1], start[1:2]) and start[:2] != b"\0\0":
        return "looks like UTF-16 text, not UTF-8", SAVE_AS_UTF8
    return None


def raw_lines(path: Path, place: ReadPosition | None = None) -> Iterator[tuple[int, bytes] | RowProblem]:
    """Numbered lines of a file, without its byte order mark. What is not text, or has no end, is a problem. From a
    `place` on; it is told of every line that is read."""
    with path.open("rb") as file:
        start = file.peek(4)[:4]
        if found := binary_format(start):
            yield RowProblem("1", "", found[0], found[1])
            return
        yield from _bounded_lines(file, place, 3 if start.startswith(b"\xef\xbb\xbf") else 0, _read_line)


def _bounded_lines(
    file: BinaryIO,
    place: ReadPosition | None,
    n_mark_bytes: int,
    read_line: Callable[[BinaryIO], bytes],
) -> Iterator[tuple[int, bytes] | RowProblem]:
    place = place or ReadPosition()
    place.offset = place.offset or n_mark_bytes
    file.seek(place.offset)
    place.begin()
    for number in count(place.line + 1):
        if not (raw := read_line(file)):
            return
        place.read(len(raw))
        if len(raw) > MAX_LINE_BYTES:
            yield too_long_problem(str(number), "the line")
            return
        yield number, raw


def _read_line(file: BinaryIO) -> bytes:
    return file.readline(MAX_LINE_BYTES + 1)


def _read_utf16_line(file: BinaryIO, *, little_endian: bool) -> bytes:
    """Up to a line feed of two bytes; one of its bytes may be part of other characters."""
    line = b""
    while len(line) <= MAX_LINE_BYTES and (part := file.readline(MAX_LINE_BYTES + 1 - len(line))):
        line += part
        if not line.endswith(b"\n"):
            continue
        if little_endian and len(line) % 2:
            line += file.read(1)
            if line.endswith(b"\0"):
                break
        elif not little_endian and len(line) % 2 == 0 and line.endswith(b"\0\n"):
            break
    return line


def too_long_problem(row: str, what: str) -> RowProblem:
    return RowProblem(
        row,
        "",
        f"{what} is longer than {MAX_LINE_BYTES // 1024**2} MB; nothing after it was read",
        "Is a line break missing, or a quote left open? Keep sounds in files of their own.",
    )


def decoded_lines(
    path: Path, place: ReadPosition | None = None, *, encoding: str, n_mark_bytes: int = 0
) -> Iterator[tuple[int, str] | RowProblem]:
    """Numbered lines of a text file in an encoding; a line that does not decode is a problem of its own."""
    with path.open("rb") as file:
        binary = binary_format(file.peek(4)[:4])
        if binary and not encoding.startswith("utf-16"):
            yield RowProblem("1", "", binary[0], binary[1])
            return
        read_line = (
            partial(_read_utf16_line, little_endian=encoding == "utf-16-le")
            if encoding.startswith("utf-16")
            else _read_line
        )
        for line in _bounded_lines(file, place, n_mark_bytes, read_line):
            if isinstance(line, RowProblem):
                yield line
                continue
            try:
                yield line[0], line[1].decode(encoding)
            except UnicodeDecodeError as error:
                yield not_decoded_problem(*line, error, encoding)


def not_decoded_problem(number: int, raw: bytes, error: UnicodeDecodeError, encoding: str) -> RowProblem:
    if encoding == "utf-8":
        problem = not_utf8_problem(number, raw, error)
        return replace(
            problem, remedy=f"{SAVE_AS_UTF8} Or name the encoding that it is in, such as windows-1252."
        )
    place = f"byte {error.start + 1} of the line, 0x{raw[error.start]:02x}"
    return RowProblem(str(number), "", f"is not {encoding} ({place})", "Name the encoding that it is in.")


def not_utf8_problem(number: int, raw: bytes, error: UnicodeDecodeError) -> RowProblem:
    place = f"byte {error.start + 1} of the line, 0x{raw[error.start]:02x}"
    return RowProblem(str(number), "", f"is not UTF-8 ({place})", SAVE_AS_UTF8)


def resolve_audio(folder: Path, name: str, *, row: str, field: str) -> Audio | RowProblem:
    """What a cell of an audio column names: a file below `folder`, or an address that is left to be fetched."""
    if not REMOTE_SCHEME.match(name):
        return resolve_below(folder, name, row=row, field=field)
    if len(name) <= MAX_ADDRESS_LENGTH and REMOTE_ADDRESS.match(name):
        return RemoteAudio(name)
    remedy = (
        f"Write https://host/path or s3://bucket/key, no blanks, {MAX_ADDRESS_LENGTH} characters at most."
    )
    return RowProblem(row, field, f"{name[:80]} is no address of a file", remedy)


@dataclass
class SourceRow:
    """One row of a source: its values by column, and the problems found in it so far. A row with one is not used."""

    row: str
    values: Mapping[str, Any]
    problems: list[RowProblem] = field(default_factory=list)

    def report(self, field: str, problem: str, remedy: str) -> None:
        self.problems.append(RowProblem(self.row, field, problem, remedy))

    def audio(self, folder: Path, name: str, field: str) -> Audio | None:
        """The sound that a column names; None where there is none, which is reported."""
        sound = resolve_audio(folder, name, row=self.row, field=field)
        if not isinstance(sound, RowProblem):
            return sound
        self.problems.append(sound)
        return None


def read_records(
    entries: Iterable[tuple[str, dict[str, Any]] | RowProblem], read: Callable[[SourceRow], TaskRecord | None]
) -> Iterator[TaskRecord | RowProblem]:
    """What `read` makes of each row: its record, or every problem that it reported instead."""
    for entry in entries:
        if isinstance(entry, RowProblem):
            yield entry
            continue
        row = SourceRow(*entry)
        record = read(row)
        yield from row.problems or filter(None, [record])


def resolve_below(folder: Path, name: str, *, row: str, field: str) -> Path | RowProblem:
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
    if other := _case_insensitive_match(path):
        remedy = "Write the name as the file has it."
        return RowProblem(row, field, f"{name} is not there, but {other} is", remedy)
    return RowProblem(
        row, field, f"{name} is not there", f"Put the file at {name} beside the source, or mend the path."
    )


def _case_insensitive_match(path: Path) -> str | None:
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
        names = [entry.name for entry in islice(entries, MAX_FOLDER_NAMES + 1)]
    if len(names) > MAX_FOLDER_NAMES:
        return {}
    return {name.casefold(): name for name in reversed(names)}


def find_below(folder: Path, name: str) -> Path | None:
    """The one file below `folder` that a path from elsewhere can mean: one that lies deeper, with the same names at its
    end, or the same file of the same folder on another machine. None where there is none, or several: a path that names
    another folder is never taken for this one.
    """
    parts = PureWindowsPath(name).parts  # takes both kinds of separators
    if not parts or "\0" in name or REMOTE_SCHEME.match(name):
        return None
    try:
        root = folder.resolve()
        alike = _files_by_name(root, root.stat().st_mtime_ns).get(parts[-1], ())
    except (OSError, RuntimeError, UnicodeError):
        return None
    matches = [
        path for path in alike if _ends_in(path.parts, parts) or _ends_in(parts, (root.name, *path.parts))
    ]
    if len(matches) != 1:
        return None
    sound = resolve_below(root, str(matches[0]), row="", field="")
    return sound if isinstance(sound, Path) else None


def _ends_in(parts: tuple[str, ...], end: tuple[str, ...]) -> bool:
    return parts[-len(end) :] == end


@lru_cache(maxsize=4)
def _files_by_name(root: Path, _changed: int) -> Mapping[str, tuple[Path, ...]]:
    """The paths of files below a folder, relative to it, by name; nothing of a folder with too many."""
    paths_by_name: dict[str, tuple[Path, ...]] = {}
    for n, path in enumerate(walk_files(root)):
        if n >= MAX_FOLDER_NAMES:
            return {}
        if isinstance(path, Path):
            paths_by_name[path.name] = (*paths_by_name.get(path.name, ()), path.relative_to(root))
    return paths_by_name


def any_audio_present(folder: Path, names: Iterable[str]) -> bool:
    """Whether a release that comes without its sounds has been given some of them."""
    return any(isinstance(resolve_audio(folder, name, row="", field=""), Audio) for name in names)


# Audio files of a folder; links that leave it (path traversal) are problems.

AUDIO_SUFFIXES = frozenset(
    {
        ".wav",
        ".mp3",
        ".flac",
        ".ogg",
        ".oga",
        ".opus",
        ".m4a",
        ".aac",
        ".aif",
        ".aiff",
        ".wma",
        ".webm",
        ".mp4",
    }
)
# What systems put into folders for themselves.
SYSTEM_FILES = frozenset({"__MACOSX", "Thumbs.db", "desktop.ini"})


def is_audio_file(name: str | Path) -> bool:
    return Path(name).suffix.lower() in AUDIO_SUFFIXES


def is_user_file(name: str) -> bool:
    """Not what systems and programs put there for themselves; `~$` begins the files by which Excel locks workbooks."""
    return not name.startswith((".", "~$")) and name not in SYSTEM_FILES


def walk_files(folder: Path) -> Iterator[Path | RowProblem]:
    """Every file below a folder, sorted, folder after folder. Links are followed to files inside it only."""
    root = folder.resolve()
    for place, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if is_user_file(name))
        for name in list(folders):
            if (Path(place) / name).is_symlink():
                folders.remove(name)
                yield _outside_link_problem(Path(place) / name, root)
        for name in sorted(filter(is_user_file, names)):
            path = Path(place) / name
            if path.is_symlink() and not path.resolve().is_relative_to(root):
                yield _outside_link_problem(path, root)
            else:
                yield path


def _outside_link_problem(path: Path, root: Path) -> RowProblem:
    problem = "is a link to somewhere else"
    return RowProblem(str(path.relative_to(root)), "", problem, "Put the files themselves there.")


# Untrusted YAML: a few lines whose values share others can expand beyond any memory.

# More than any configuration has. What is merged into a mapping is copied, and copies of copies grow without end.
MAX_MERGED_KEYS = 10_000
YAML_MERGE_TAG = "tag:yaml.org,2002:merge"


class _BoundedYamlLoader(yaml.SafeLoader):
    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        sources = []
        for key, value in node.value:
            if key.tag == YAML_MERGE_TAG:  # `<<` names a mapping or a list of them
                named = value.value if isinstance(value, yaml.SequenceNode) else [value]
                sources += [each for each in named if isinstance(each, yaml.MappingNode)]
        for source in sources:
            self.flatten_mapping(source)
        if sum(len(source.value) for source in sources) > MAX_MERGED_KEYS:
            raise yaml.constructor.ConstructorError(None, None, "merges too much", node.start_mark)
        super().flatten_mapping(node)


def load_yaml(written: str) -> Any:
    """Raises yaml.YAMLError, ValueError or RecursionError for what cannot be read."""
    return yaml.load(written, Loader=_BoundedYamlLoader)  # which is a SafeLoader


def yaml_text(value: Any) -> str:
    """A text, or a number as one. Nothing else is spelled out: a list may hold the same list again and again."""
    if isinstance(value, int | float):
        return str(value) if abs(value) < 2**63 else ""
    return value if isinstance(value, str) else ""
