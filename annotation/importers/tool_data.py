"""What other annotation tools were given to show: their data's keys as fields of the table, and where sounds lie.

Keys are fields by name, or by what such names usually mean (synonyms.py). All others have to be mapped, or left out, by
whoever imports.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from annotation.importers import files, synonyms
from annotation.importers.columns import ANSWERS
from annotation.importers.records import Audio, RowProblem
from annotation.protocols import Protocol

DATA = "data."
AUDIO = re.compile(r"(?:reference_|item_)?audio(?:_[a-z])?\Z")
# How addresses and files of sounds are written in such data.
SOUND = re.compile(
    r"(?:/?data/(?:upload|local-files)/|[a-z0-9]+://).*|.*\.(?:wav|flac|mp3|ogg|opus|m4a|aac)\Z", re.I
)
# A folder above uploads is a project's number, never a system's name. Uploads begin with a few letters of their own.
UPLOAD = re.compile(r"(?:^|/)upload/\d+/[^/]*\Z")
OWN_LETTERS = re.compile(r"[0-9a-f]{8}-")


def fields(
    data: Mapping[str, Any], protocol: Protocol, column_map: Mapping[str, str]
) -> dict[str, str | None]:
    """The field that each key is; empty for one to leave out, None for one that nothing is known of."""
    open_ = tuple(key for key in data if DATA + key not in column_map)
    sounds = tuple(key for key in open_ if isinstance(data[key], str) and SOUND.match(data[key]))
    guessed = _guessed(open_, sounds, protocol.candidate)
    return {key: column_map.get(DATA + key, guessed.get(key)) for key in data}


@lru_cache(maxsize=64)
def _guessed(keys: tuple[str, ...], sounds: tuple[str, ...], candidate: str) -> dict[str, str | None]:
    """Tasks of a project have the same keys: what they mean is thought out once."""
    found: dict[str, str | None] = {}
    for key, field in synonyms.suggested(keys, dict.fromkeys(sounds, "sound")).items():
        # Data hold no answers: what would be one in a table is something else here.
        found[key] = None if not field or (field in ANSWERS and key != "question") else field
    if "question" in keys and found["question"] == "question":
        found["question"] = "question_text"
    if (
        candidate == "text"
        and "text" in keys
        and not any((field or "").startswith("answer") for field in found.values())
    ):
        found["text"] = "answer"  # what is judged; nothing else is
    return found


def sound(folder: Path, name: str, *, row: str, field: str) -> Audio | RowProblem:
    """The sound that a tool had at `name`: an address that anybody can fetch, or a file beside the source, under its
    whole path or the end of it."""
    if files.REMOTE.match(name) and not UPLOAD.search(name):
        return files.sound(folder, name, row=row, field=field)
    if found := below(folder, name):
        return found
    remedy = "Put the file beside the export, or below it at the path that it names."
    return RowProblem(row, field, f"{name} is not there", remedy)


def below(folder: Path, name: str) -> Path | None:
    """The file that a tool had at `name`: below the folder at its whole path, or at the end of it."""
    parts = _path(name).parts
    ends = [str(PurePosixPath(*parts[start:])) for start in range(len(parts))]
    for end in [*ends, *(OWN_LETTERS.sub("", last) for last in parts[-1:])]:
        found = files.beside(folder, end, row="", field="")
        if isinstance(found, Path):
            return found
    return None


def folder_of(name: str) -> str:
    """The folder that a clip lies in, which names its system where nothing else does; nothing for uploads."""
    return "" if UPLOAD.search(name) else _path(name).parent.name


def _path(name: str) -> PurePosixPath:
    """Where a file lies below what the tool served: without its host, its query, and what leads out of the folder."""
    try:
        parts = urlsplit(name)
    except ValueError:  # a bracket where a host should be
        return PurePosixPath()
    asked = parse_qs(parts.query).get("d", [""])[0]
    path = asked or unquote(parts.path if parts.scheme or parts.query else name)
    return PurePosixPath(
        *(part for part in PurePosixPath(path.replace("\0", "")).parts if part not in ("/", ".."))
    )


def values(
    row: str, data: Mapping[str, Any], column_map: Mapping[str, str], protocol: Protocol, told: set[str]
) -> tuple[dict[str, Any], list[RowProblem]]:
    """A task's data by field. A key that nothing is known of is a problem once: `told` holds those that were."""
    found: dict[str, Any] = {}
    problems = []
    known = fields(data, protocol, column_map)
    for key, value in data.items():
        field = known[key]
        if field is None:
            if key not in told:
                told.add(key)
                column = DATA + key
                remedy = f'Map it to a field (--map "{column}=FIELD") or leave it out (--map "{column}=").'
                problems.append(RowProblem(row, column, "is no field known here", remedy))
        elif field and found.setdefault(field, value) is not value:
            remedy = f'Leave one of them out (--map "{DATA}{key}=").'
            problems.append(RowProblem(row, DATA + key, f"is a second {field}", remedy))
    return found, problems
