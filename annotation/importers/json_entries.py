"""The entries of a JSON file that is one list or one object, one at a time: such files may be larger than memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from annotation.importers import strict_json
from annotation.importers.files import UTF8
from annotation.importers.records import RowProblem

BLOCK = 1 << 20
# One entry is never longer than this, in characters: more is a file of another kind, or one that was damaged.
LONGEST = 32 << 20
WHITE = re.compile(r"[ \t\r\n]*")
KINDS = {"[": "list", "{": "object"}
CLOSING = {"[": "]", "{": "}"}
DECODER = strict_json.decoder()
AGAIN = "Export the file again; it may have been cut off on its way."


def opening(path: Path) -> str:
    """The first character that says something; nothing where the file has none or is not UTF-8."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            return _Text(file).peek()
    except UnicodeDecodeError:
        return ""


def entries(path: Path, *, opens: str) -> Iterator[tuple[str, Any] | RowProblem]:
    """Key and value of each entry, a list's keys being empty. Doubled keys are both there.

    The first fault in the JSON itself is a problem of the file, and the end of it: nothing behind it can be trusted.
    """
    number = 0
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for entry in _entries(_Text(file), opens):
                number += 1
                yield entry
    except UnicodeDecodeError as error:
        bad = f"0x{error.object[error.start]:02x}"
        yield RowProblem(path.name, "", f"is not UTF-8 after {number} entries ({bad})", UTF8)
    except _OfAnotherKind:
        remedy = f"Use the released layout: one {KINDS[opens]} of entries."
        yield RowProblem(path.name, "", f"is not a JSON {KINDS[opens]}", remedy)
    except (strict_json.Fault, RecursionError) as error:
        fault = strict_json.as_fault(error)
        yield RowProblem(str(number + 1), "", f"{fault.problem}; nothing after it was read", fault.remedy)
    except ValueError as error:
        yield RowProblem(path.name, "", f"is not JSON after {number} entries: {error}", AGAIN)


class _OfAnotherKind(Exception):
    """The file holds something else than the list or the object that it should be."""


class _Text:
    """What was read of a file and not used yet."""

    def __init__(self, file: TextIO) -> None:
        self.file, self.text, self.at = file, "", 0

    def more(self) -> bool:
        """Read as much again as is waiting, so that a long entry is not tried over and over."""
        block = self.file.read(max(BLOCK, len(self.text) - self.at))
        self.text, self.at = self.text[self.at :] + block, 0
        return bool(block)

    def peek(self) -> str:
        """The next character that is not white space; nothing at the end of the file."""
        while True:
            white = WHITE.match(self.text, self.at)
            assert white is not None
            self.at = white.end()
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def take(self, *wanted: str) -> str:
        found = self.peek()
        if found not in wanted or not found:
            raise ValueError(
                f"{found!r} stands where {' or '.join(wanted)} should" if found else "it breaks off"
            )
        self.at += 1
        return found

    def value(self) -> Any:
        self.peek()
        while True:
            try:
                value, end = DECODER.raw_decode(self.text, self.at)
            except json.JSONDecodeError as error:
                if len(self.text) - self.at > LONGEST:
                    raise ValueError(
                        f"an entry is longer than {LONGEST:,} characters, or {error.msg}"
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


def _entries(text: _Text, opens: str) -> Iterator[tuple[str, Any]]:
    if text.peek() != opens:
        raise _OfAnotherKind
    text.take(opens)
    closes = CLOSING[opens]
    if text.peek() == closes:
        text.take(closes)
    else:
        while True:
            yield _key(text) if opens == "{" else "", text.value()
            if text.take(",", closes) == closes:
                break
    if text.peek():
        raise ValueError("something follows its end")


def _key(text: _Text) -> str:
    text.peek()
    key = text.value()
    if not isinstance(key, str):
        raise ValueError(f"{key!r} stands where a key should")
    text.take(":")
    return key
