"""Reading one field of a definition: the right type, or a ProtocolError that says where."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from annotation.protocols.schema import ProtocolError, Text

Row = Mapping[str, Any]


def only(row: object, where: str, allowed: Iterable[str]) -> None:
    """The row is a table of these fields and no others."""
    if not isinstance(row, Mapping):
        raise ProtocolError(where, "must be a table")
    if unknown := set(row) - set(allowed):
        raise ProtocolError(where, f"{', '.join(sorted(map(str, unknown)))}: not known here")


def rows(row: Row, name: str, where: str) -> list[tuple[Any, str]]:
    """A list's elements, each with its own place."""
    value = row.get(name, [])
    if not isinstance(value, list | tuple):
        raise ProtocolError(_at(where, name), "must be a list")
    return [(element, f"{_at(where, name)}[{i}]") for i, element in enumerate(value)]


def names(row: Row, name: str, where: str, *, of: Iterable[str], what: str) -> tuple[str, ...]:
    """A list of names, each once and each one of `of`."""
    found = [element for element, _ in rows(row, name, where)]
    known = list(of)
    if unknown := [element for element in found if element not in known]:
        raise ProtocolError(_at(where, name), f"{unknown} are not {what}; use {', '.join(known) or 'none'}")
    unique(found, _at(where, name))
    return tuple(found)


def text(row: Row, name: str, where: str, *, default: Text | None = None) -> Text:
    if name not in row:
        if default is None:
            raise ProtocolError(_at(where, name), "is missing")
        return default
    return as_text(row[name], _at(where, name))


def as_text(value: object, where: str) -> Text:
    if isinstance(value, str):
        return Text({"en": value.strip()})
    if isinstance(value, Mapping) and "en" in value and all(isinstance(v, str) for v in value.values()):
        return Text({str(language): str(text).strip() for language, text in value.items()})
    raise ProtocolError(where, 'must be a text, or a table of texts by language that has "en"')


def key(row: Row, where: str, *, longest: int) -> str:
    value = row.get("key")
    if not isinstance(value, str) or not 0 < len(value) <= longest:
        raise ProtocolError(_at(where, "key"), f"must be a text of 1 to {longest} characters")
    return value


def one_of(row: Row, name: str, allowed: tuple[str, ...], where: str, *, default: str | None = None) -> str:
    value = row.get(name, default)
    if value not in allowed:
        raise ProtocolError(
            _at(where, name), f"{value!r} is not one of {', '.join(repr(a) for a in allowed)}"
        )
    return str(value)


def flag(row: Row, name: str, where: str, *, default: bool) -> bool:
    value = row.get(name, default)
    if not isinstance(value, bool):
        raise ProtocolError(_at(where, name), "must be true or false")
    return value


def number(row: Row, name: str, where: str) -> float | None:
    """A finite number, or None where the field is left out."""
    value = row.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ProtocolError(_at(where, name), "must be a number")
    return float(value)


def count(row: Row, name: str, where: str, *, default: int) -> int:
    value = row.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ProtocolError(_at(where, name), "must be a whole number from 1")
    return value


def unique(values: Iterable[object], where: str) -> None:
    seen: set[object] = set()
    for value in values:
        if value in seen:
            raise ProtocolError(where, f"{value!r} stands there twice")
        seen.add(value)


def _at(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name
