"""Streaming of JSON and JSONL: entries one at a time, as such files may be larger than memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn, TextIO

import orjson

from annotation.importing.formats import source_files
from annotation.importing.formats.source_files import SAVE_AS_UTF8, ReadPosition, not_utf8_problem, raw_lines
from annotation.importing.records import RowProblem

# Strict, lossless JSON. Python's own parser takes NaN and keeps the last of two values under one key; orjson rounds
# numbers beyond 64 bits.

BEYOND_64_BITS = 9e18
KEY_END = re.compile(rb'"[ \t\r\n]*:')


class JsonError(ValueError):
    """What is wrong with a text that should be JSON, as it is told to a person."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy


TOO_DEEP = JsonError("is nested too deeply", "Write texts and numbers, not lists within lists.")


def parse_json(raw: bytes) -> Any:
    """One JSON value. Raises Fault, and UnicodeDecodeError for bytes that are not UTF-8."""
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return _parse_json_strictly(raw)
    return value if _is_lossless(value, raw) else _parse_json_strictly(raw)


def _is_lossless(value: Any, raw: bytes) -> bool:
    """Whether the fast reader can have lost nothing: no more keys than it kept, no number that it may have rounded."""
    if not isinstance(value, dict):
        return False
    # Every key ends in a quote and a colon; where no more of these stand than keys were kept, none was there twice.
    if len(value) != raw.count(b":") and len(value) != len(KEY_END.findall(raw)):
        return False
    # Most hold texts alone.
    return _MAY_BE_LARGE.isdisjoint(map(type, value.values())) or not any(map(_is_large, value.values()))


_MAY_BE_LARGE = frozenset([float, list])


def _is_large(value: Any) -> bool:
    if isinstance(value, list):
        return any(_is_large(item) for item in value)
    return isinstance(value, float) and abs(value) > BEYOND_64_BITS


def _parse_json_strictly(raw: bytes) -> Any:
    text = raw.decode()
    try:
        return json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        remedy = "Write one JSON object per line."
        if "\r" in text.strip():
            remedy = "End lines with a line feed: these end in carriage returns alone."
        # A line has no lines within: where it breaks off is told by its character alone.
        raise JsonError(f"is not JSON: {error.msg}: character {error.pos + 1}", remedy) from None
    except (ValueError, RecursionError) as error:
        raise as_json_error(error) from None


def as_json_error(error: Exception) -> JsonError:
    """What Python's reader says of a number, or of a depth, that is too much for it."""
    if isinstance(error, JsonError):
        return error
    if isinstance(error, RecursionError):
        return TOO_DEEP
    return JsonError("holds a number of thousands of digits", "Put it in quotes if it is a name.")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        doubled = next(name for name in names if names.count(name) > 1)
        raise JsonError(f"names {doubled!r} twice", "Keep one of the two values.")
    return members


def _refuse_constant(constant: str) -> NoReturn:
    raise JsonError(f"holds {constant}, which is no JSON number", "Write null, or leave it out.")


def json_lines(
    path: Path, place: ReadPosition | None = None
) -> Iterator[tuple[str, dict[str, Any]] | RowProblem]:
    """The objects of a JSONL file by line number; blank lines are passed over."""
    place = place or ReadPosition()
    for line in raw_lines(path, place):
        if isinstance(line, RowProblem):
            yield line
        elif line[1].strip():
            yield _json_object(*line)
        place.advance()


def _json_object(number: int, raw: bytes) -> tuple[str, dict[str, Any]] | RowProblem:
    try:
        value = parse_json(raw)
    except UnicodeDecodeError as error:
        return not_utf8_problem(number, raw, error)
    except JsonError as fault:
        return RowProblem(str(number), "", fault.problem, fault.remedy)
    if isinstance(value, dict):
        return str(number), value
    return RowProblem(str(number), "", "is not a JSON object", 'Write {"column": value, …} on each line.')


BLOCK_CHARACTERS = 1 << 20
# One entry is never longer than this, in characters: more is a file of another kind, or one that was damaged.
MAX_ENTRY_CHARACTERS = 32 << 20
WHITESPACE = re.compile(r"[ \t\r\n]*")
CONTAINER_NAMES = {"[": "list", "{": "object"}
DECODER = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_constant=_refuse_constant)
EXPORT_AGAIN = "Export the file again; it may have been cut off on its way."


def first_character(path: Path) -> str:
    """The first character that says something; nothing where the file has none or is not UTF-8."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            return _JsonStream(file).peek()
    except UnicodeDecodeError:
        return ""


def stream_entries(path: Path, *, opens: str) -> Iterator[tuple[str, Any] | RowProblem]:
    """Key and value of each entry, a list's keys being empty. Doubled keys are both there.

    The first fault in the JSON itself is a problem of the file, and the end of it: nothing behind it can be trusted.
    """
    number = 0
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for entry in _parse_entries(_JsonStream(file), opens):
                number += 1
                yield entry
    except UnicodeDecodeError as error:
        bad = f"0x{error.object[error.start]:02x}"
        yield RowProblem(path.name, "", f"is not UTF-8 after {number} entries ({bad})", SAVE_AS_UTF8)
    except _WrongContainer:
        remedy = f"Use the released layout: one {CONTAINER_NAMES[opens]} of entries."
        yield RowProblem(path.name, "", f"is not a JSON {CONTAINER_NAMES[opens]}", remedy)
    except (JsonError, RecursionError) as error:
        fault = as_json_error(error)
        yield RowProblem(str(number + 1), "", f"{fault.problem}; nothing after it was read", fault.remedy)
    except ValueError as error:
        yield RowProblem(path.name, "", f"is not JSON after {number} entries: {error}", EXPORT_AGAIN)


class _WrongContainer(Exception):
    """The file holds something else than the list or the object that it should be."""


class _JsonStream:
    """What was read of a file and not used yet."""

    def __init__(self, file: TextIO) -> None:
        self.file, self.text, self.at = file, "", 0

    def more(self) -> bool:
        """Read as much again as is waiting, so that a long entry is not tried over and over."""
        block = self.file.read(max(BLOCK_CHARACTERS, len(self.text) - self.at))
        self.text, self.at = self.text[self.at :] + block, 0
        return bool(block)

    def peek(self) -> str:
        """The next character that is not white space; nothing at the end of the file."""
        while True:
            white = WHITESPACE.match(self.text, self.at)
            assert white is not None
            self.at = white.end()
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def take(self, *wanted: str) -> str:
        character = self.peek()
        if character not in wanted or not character:
            raise ValueError(
                f"{character!r} stands where {' or '.join(wanted)} should" if character else "it breaks off"
            )
        self.at += 1
        return character

    def value(self) -> Any:
        self.peek()
        while True:
            try:
                value, end = DECODER.raw_decode(self.text, self.at)
            except json.JSONDecodeError as error:
                if len(self.text) - self.at > MAX_ENTRY_CHARACTERS:
                    raise ValueError(
                        f"an entry is longer than {MAX_ENTRY_CHARACTERS:,} characters, or {error.msg}"
                    ) from error
                if not self.more():
                    raise ValueError(f"it breaks off, or {error.msg}") from error
                continue
            if len(self.text) - end < len("e+1"):
                length = end - self.at
                if self.more():
                    continue  # a number at the end of what was read may go on
                end = length
            self.at = end
            return value


def _parse_entries(text: _JsonStream, opens: str) -> Iterator[tuple[str, Any]]:
    if text.peek() != opens:
        raise _WrongContainer
    text.take(opens)
    closes = {"[": "]", "{": "}"}[opens]
    if text.peek() == closes:
        text.take(closes)
    else:
        while True:
            yield _parse_key(text) if opens == "{" else "", text.value()
            if text.take(",", closes) == closes:
                break
    if text.peek():
        raise ValueError("something follows its end")


def _parse_key(text: _JsonStream) -> str:
    text.peek()
    key = text.value()
    if not isinstance(key, str):
        raise ValueError(f"{key!r} stands where a key should")
    text.take(":")
    return key


# Tables in JSON: a list of objects, read one at a time, or an object of lists, which is held whole.

# An object of lists tells its first row when its last column has been read.
MAX_COLUMN_FILE_BYTES = 64 * 1024 * 1024
AS_OBJECTS = 'Write a list of objects, [{"column": value, …}, …], or JSONL.'


def json_rows(source: Path) -> Iterator[tuple[str, dict[str, Any]] | RowProblem]:
    """A table's rows, counted from 1."""
    with source.open("rb") as file:
        signature = source_files.binary_format(file.read(4))
    if signature:
        yield RowProblem("", "", signature[0], signature[1])
        return
    match first_character(source):
        case "[":
            yield from _object_rows(source)
        case "{":
            yield from _column_rows(source)
        case _:
            yield RowProblem("", "", "is not a JSON list or object in UTF-8", AS_OBJECTS)


def _object_rows(source: Path) -> Iterator[tuple[str, dict[str, Any]] | RowProblem]:
    for number, entry in enumerate(stream_entries(source, opens="["), 1):
        if isinstance(entry, RowProblem):
            yield entry
        elif isinstance(entry[1], dict):
            yield str(number), entry[1]
        else:
            yield RowProblem(str(number), "", "is not an object", AS_OBJECTS)


def _column_rows(source: Path) -> Iterator[tuple[str, dict[str, Any]] | RowProblem]:
    if source.stat().st_size > MAX_COLUMN_FILE_BYTES:
        problem = f"is an object, not a list, and larger than {MAX_COLUMN_FILE_BYTES // 1024**2} MB"
        yield RowProblem("", "", problem, AS_OBJECTS)
        return
    columns: dict[str, list[Any]] = {}
    for entry in stream_entries(source, opens="{"):
        if isinstance(entry, RowProblem):
            yield entry
            return
        name, values = entry
        if not isinstance(values, list):
            yield RowProblem("", name, "is not a list of values", AS_OBJECTS)
            return
        if name in columns:
            yield RowProblem("", name, "stands in the object twice", "Give every column its own name.")
            return
        columns[name] = values
    if len({len(values) for values in columns.values()}) > 1:
        lengths = ", ".join(f"{name}: {len(values)}" for name, values in columns.items())
        problem = f"its columns are of different lengths ({lengths[:200]})"
        yield RowProblem("", "", problem, "Give every column a value per row, null where there is none.")
        return
    for number, values in enumerate(zip(*columns.values(), strict=True), 1):
        yield str(number), dict(zip(columns, values, strict=True))
