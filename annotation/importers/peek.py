"""The first rows of a table, before it is said what its columns mean."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.importers import audio_folder, table
from annotation.importers.guess import guess_format
from annotation.importers.records import NO_TEXT, Audio, RowProblem
from annotation.importers.synonyms import suggested
from annotation.protocols import Protocol

# A preview is read by a person: a source whose every row is wrong is wrong in the same way.
MAX_PROBLEMS = 20
LONGEST_CELL = 200
SOUND_FILE = re.compile(r"\S.*\.(?:wav|mp3|flac|ogg|opus|m4a|aac|aiff?|wma)(?:\?\S*)?\Z", re.IGNORECASE)


@dataclass(frozen=True)
class Peek:
    """`rows` are texts in the order of `columns`, cut to 200 characters.

    types: per column "whole number", "number", "sound", "text", "list", "object", "bytes", "mixed" or "empty", as far
    as the rows that were read show. suggested: per column the field that it most likely holds, or "".
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    types: Mapping[str, str]
    suggested: Mapping[str, str]
    problems: tuple[RowProblem, ...] = ()


def peek(source: Path, kind: str, rows: int = 10, *, protocol: Protocol | None = None) -> Peek:
    """What the first `rows` rows of a table hold. `kind` is a key of `table.TABLES`; no more is read than is shown.

    Sounds that nothing but their folders pair are paired as `protocol` compares them; alone, where there is none.
    """
    if kind == "audiofolder" and protocol is not None:
        found = audio_folder.rows_for(source, protocol)
    else:
        found = table.TABLES[kind](source)
    entries: list[dict[str, Any]] = []
    problems: list[RowProblem] = []
    for entry in found:
        if isinstance(entry, RowProblem):
            problems.append(entry)
        else:
            entries.append(entry[1])
        if len(entries) >= rows or len(problems) >= MAX_PROBLEMS:
            break
    named = dict.fromkeys(column for entry in entries for column in entry)
    problems += [_unwritable(column) for column in named if NO_TEXT.search(column)]
    columns = tuple(column for column in named if not NO_TEXT.search(column))
    types = {column: _type([entry.get(column) for entry in entries]) for column in columns}
    shown = tuple(tuple(_shown(entry.get(column)) for column in columns) for entry in entries)
    return Peek(columns, shown, types, suggested(columns, types), tuple(problems))


def _unwritable(column: str) -> RowProblem:
    remedy = "Remove zero bytes and half characters."
    return RowProblem("", _shown(column), "holds a character that no text can hold", remedy)


def _type(values: Sequence[Any]) -> str:
    kinds = {_kind(value) for value in values if value not in (None, "")}
    if not kinds:
        return "empty"
    if kinds == {"number", "whole number"}:
        return "number"
    return kinds.pop() if len(kinds) == 1 else "text" if kinds <= SPELLED else "mixed"


SPELLED = {"number", "whole number", "text", "sound"}


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "text"
        case int():
            return "whole number"
        case float():
            return "number"
        case list():
            return "list"
        case dict():
            return "object"
        case bytes():
            return "bytes"
        case str():
            return _spelled(value.strip())
        case _:
            return "sound" if isinstance(value, Audio) else "text"


def _spelled(text: str) -> str:
    if re.fullmatch(r"[+-]?\d{1,18}", text):
        return "whole number"
    if re.fullmatch(r"[+-]?(?:\d+\.\d*|\.?\d+)(?:[eE][+-]?\d{1,3})?", text):
        return "number"
    return "sound" if SOUND_FILE.match(text) else "text"


def _shown(value: Any) -> str:
    if value is None:
        return ""
    text = value.name if isinstance(value, Audio) else str(value).strip()
    text = text.encode(errors="backslashreplace").decode()  # no page could be sent with half a character
    return text if len(text) <= LONGEST_CELL else f"{text[: LONGEST_CELL - 1]}…"


__all__ = ["Peek", "guess_format", "peek"]
