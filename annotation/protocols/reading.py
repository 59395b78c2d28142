"""Fields of a definition: the right type, or a ProtocolError with its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from annotation.protocols.schema import Point, Protocol, ProtocolError, Text

Row = Mapping[str, Any]
MOST_NUMBER = 1e15


def read_plain(part: Any, row: Row, where: str) -> dict[str, Any]:
    """The texts and flags of a part of a protocol, by the types and defaults of its fields. The row is a table of these
    fields and no others."""
    if not isinstance(row, Mapping):
        raise ProtocolError(where, "must be a table")
    allowed = {field.name: field for field in fields(part) if field.init}
    if unknown := set(row) - set(allowed):
        raise ProtocolError(where, f"{', '.join(sorted(map(str, unknown)))}: not known here")
    readers: dict[Any, Callable[..., Any]] = {"Text": read_text, "bool": read_flag}
    defaults = {name: None if field.default is MISSING else field.default for name, field in allowed.items()}
    within = "" if part is Protocol else where
    return {
        name: readers[field.type](row, name, within, default=defaults[name])
        for name, field in allowed.items()
        if field.type in readers
    }


def read_rows(row: Row, name: str, where: str) -> list[tuple[Any, str]]:
    """A list's elements, each with its own place."""
    value = row.get(name, [])
    if not isinstance(value, list | tuple):
        raise ProtocolError(at(where, name), "must be a list")
    return [(element, f"{at(where, name)}[{i}]") for i, element in enumerate(value)]


def read_names(row: Row, name: str, where: str, *, of: Iterable[str], what: str) -> tuple[str, ...]:
    """A list of names, each once and each one of `of`."""
    names = [element for element, _ in read_rows(row, name, where)]
    known = list(of)
    if unknown := [element for element in names if element not in known]:
        raise ProtocolError(at(where, name), f"{unknown} are not {what}; use {', '.join(known) or 'none'}")
    check_unique(names, at(where, name))
    return tuple(names)


def read_text(row: Row, name: str, where: str, *, default: Text | None = None) -> Text:
    if name not in row:
        if default is None:
            raise ProtocolError(at(where, name), "is missing")
        return default
    return parse_text(row[name], at(where, name))


def parse_text(value: object, where: str) -> Text:
    if isinstance(value, str):
        return Text({"en": value.strip()})
    if isinstance(value, Mapping) and "en" in value and all(isinstance(v, str) for v in value.values()):
        return Text({str(language): str(text).strip() for language, text in value.items()})
    raise ProtocolError(where, 'must be a text, or a table of texts by language that has "en"')


def read_key(row: Row, where: str, *, longest: int) -> str:
    value = row.get("key")
    if not isinstance(value, str) or not 0 < len(value) <= longest:
        raise ProtocolError(at(where, "key"), f"must be a text of 1 to {longest} characters")
    return value


def read_choice(
    row: Row, name: str, allowed: tuple[str, ...], where: str, *, default: str | None = None
) -> str:
    value = row.get(name, default)
    if value is None:
        raise ProtocolError(at(where, name), f"is missing; use one of {', '.join(filter(None, allowed))}")
    if value not in allowed:
        raise ProtocolError(at(where, name), f"{value!r} is not one of {', '.join(repr(a) for a in allowed)}")
    return str(value)


def read_flag(row: Row, name: str, where: str, *, default: bool | None) -> bool:
    value = row.get(name, default)
    if not isinstance(value, bool):
        raise ProtocolError(at(where, name), "must be true or false")
    return value


def read_number(row: Row, name: str, where: str) -> float | None:
    """A finite number, or None where the field is left out."""
    value = row.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ProtocolError(at(where, name), "must be a number")
    # Beyond it steps and widths of a scale would be infinite; a whole number may be beyond any float.
    if not abs(value) <= MOST_NUMBER:
        raise ProtocolError(at(where, name), "must be a number")
    return float(value)


def read_count(row: Row, name: str, where: str, *, default: int, least: int = 1) -> int:
    value = row.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ProtocolError(at(where, name), f"must be a whole number from {least}")
    return value


def check_unique(values: Iterable[object], where: str) -> None:
    seen: set[object] = set()
    for value in values:
        if value in seen:
            raise ProtocolError(where, f"{value!r} stands there twice")
        seen.add(value)


def at(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def read_points(row: Row, where: str) -> tuple[Point, ...]:
    points = tuple(_read_point(point, place) for point, place in read_rows(row, "points", where))
    check_unique((point.value for point in points), f"{where}.points")
    return points


def _read_point(row: Row, where: str) -> Point:
    plain = read_plain(Point, row, where)
    value = read_number(row, "value", where)
    if value is None:
        raise ProtocolError(f"{where}.value", "is missing")
    return Point(value, **plain)
