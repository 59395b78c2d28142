"""A protocol as a file: TOML as the presets are written, or JSON; and the labeling configurations of Label Studio."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import tomli_w

from annotation.protocols import label_studio
from annotation.protocols.reading import MOST_NUMBER
from annotation.protocols.schema import ProtocolError

FORMATS = {"toml": "application/toml", "json": "application/json"}
MOST_CHARACTERS = 500_000
_MOST_DEPTH = 20


@dataclass(frozen=True)
class BroughtProtocol:
    """A definition from a file, faults and all. notes: what of the file has no place in it."""

    definition: dict[str, Any]
    notes: tuple[str, ...] = ()


def write(definition: Mapping[str, Any], format: str) -> str:
    if format == "toml":
        return tomli_w.dumps(_without_none(definition), multiline_strings=True)
    return json.dumps(definition, ensure_ascii=False, indent=2) + "\n"


def read(text: str) -> BroughtProtocol:
    """Raises ProtocolError where the text is none of the three, with the line where there is one."""
    if len(text) > MOST_CHARACTERS:
        raise ProtocolError("file", f"is longer than {MOST_CHARACTERS} characters")
    text = text.removeprefix("\ufeff").strip()
    if not text:
        raise ProtocolError("file", "is empty")
    _check_characters(text)
    if text.startswith("<"):
        return BroughtProtocol(*label_studio.definition_of_config(text))
    definition = _read_json(text) if text.startswith(("{", "[")) and _is_json(text) else _read_toml(text)
    if not isinstance(definition, dict):
        raise ProtocolError("file", "is no table of fields")
    check_storable(definition)
    return BroughtProtocol(definition)


def _is_json(text: str) -> bool:
    """A TOML file may begin with a table's heading, [title], which is no JSON."""
    return text.startswith("{") or text.rstrip().endswith("]")


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProtocolError("file", f"is no JSON: {error}") from error


def _read_toml(text: str) -> Any:
    try:
        # Dates have no place in a protocol; as texts their fault is named where they stand.
        return json.loads(json.dumps(tomllib.loads(text), default=str))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise ProtocolError("file", f"is no TOML: {error}") from error


def check_storable(value: Any) -> None:
    """That it is not nested too deeply, and that the database can hold it: escapes may name characters that no text
    has. Raises ProtocolError."""
    left = [(value, 1)]
    while left:
        part, depth = left.pop()
        if depth > _MOST_DEPTH:
            raise ProtocolError("file", "is nested too deeply")
        if isinstance(part, dict):
            left += [(each, depth + 1) for pair in part.items() for each in pair]
        elif isinstance(part, list):
            left += [(each, depth + 1) for each in part]
        elif isinstance(part, str):
            _check_characters(part)
        elif isinstance(part, int | float) and not abs(part) <= MOST_NUMBER:
            raise ProtocolError("file", "holds a number that is too large, or none")


def _check_characters(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ProtocolError("file", "is no text") from None
    if "\x00" in text:
        raise ProtocolError("file", "is no text")


def _without_none(value: Any) -> Any:
    """TOML has no null: what is null is left out, as a protocol leaves out what it has not."""
    if isinstance(value, Mapping):
        return {str(key): _without_none(each) for key, each in value.items() if each is not None}
    if isinstance(value, list | tuple):
        return [_without_none(each) for each in value if each is not None]
    return value
