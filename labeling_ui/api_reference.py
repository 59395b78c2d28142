"""The API's description (OpenAPI) as what the reference page shows: calls by subject, and the shapes they name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from annotation.api.schema import description
from annotation.api.shapes import In

_TO_SHAPE = "#/components/schemas/"
_LIMITS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
}
# An integer's bounds in the database are no news to anybody.
_MOST = 2**63 - 1


@dataclass(frozen=True)
class Kind:
    """What a value is: words, and the shape they name, if any."""

    words: str
    shape: str = ""


@dataclass(frozen=True)
class Field:
    name: str
    kind: Kind
    required: bool
    help: str
    # Where a parameter goes: path, query or header.
    place: str = ""


@dataclass(frozen=True)
class Body:
    media: str
    kind: Kind
    fields: tuple[Field, ...]
    example: str


@dataclass(frozen=True)
class Answer:
    status: str
    said: str
    bodies: tuple[Body, ...]


@dataclass(frozen=True)
class Call:
    id: str
    method: str
    path: str
    summary: str
    more: str
    scope: str
    parameters: tuple[Field, ...]
    bodies: tuple[Body, ...]
    answers: tuple[Answer, ...]
    refusals: tuple[Answer, ...]


@dataclass(frozen=True)
class Shape:
    name: str
    about: str
    fields: tuple[Field, ...]
    kind: Kind


@dataclass(frozen=True)
class Reference:
    subjects: dict[str, list[Call]]
    shapes: list[Shape]


@cache
def reference() -> Reference:
    """Made once for each process, as the description is."""
    described = description()
    subjects: dict[str, list[Call]] = {tag["name"]: [] for tag in described["tags"]}
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            subjects[operation["tags"][0]].append(_call(path, method, operation))
    shapes = [
        Shape(
            name,
            "" if shape.get("description") == In.__doc__ else _sentence(shape),
            tuple(_fields(shape)),
            _kind(shape),
        )
        for name, shape in described["components"]["schemas"].items()
        if not _is_small(shape)
    ]
    return Reference({name: calls for name, calls in subjects.items() if calls}, shapes)


def _call(path: str, method: str, operation: dict[str, Any]) -> Call:
    text, _, scope = operation["description"].rpartition("Scope: `")
    summary, _, more = text.strip().partition("\n\n")
    answers = [
        Answer(status, said.get("description", ""), tuple(_bodies(said)))
        for status, said in sorted(operation["responses"].items())
    ]
    return Call(
        id=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=summary.replace("\n", " "),
        more=more.strip(),
        scope=scope.partition("`")[0],
        parameters=tuple(
            Field(
                given["name"], _kind(given["schema"]), given.get("required", False),
                given.get("description", ""), given["in"],
            )
            for given in operation.get("parameters", [])
        ),
        bodies=tuple(_bodies(operation.get("requestBody", {}))),
        answers=tuple(answer for answer in answers if answer.status[0] in "23"),
        refusals=tuple(answer for answer in answers if answer.status[0] not in "23"),
    )  # fmt: skip


def _bodies(place: dict[str, Any]) -> Iterator[Body]:
    for media, content in place.get("content", {}).items():
        schema, example = content.get("schema", {}), content.get("example")
        written = "" if example is None else json.dumps(example, indent=2, ensure_ascii=False)
        yield Body(media, _kind(schema), tuple(_fields(_resolved(schema))), written)


def _fields(shape: dict[str, Any]) -> Iterator[Field]:
    required = shape.get("required", ())
    for name, schema in shape.get("properties", {}).items():
        yield Field(name, _kind(schema), name in required, _sentence(schema))


def _kind(schema: dict[str, Any]) -> Kind:
    """A type in words: `array of ItemOut, or null`."""
    found = _bare_kind(schema)
    return Kind(f"{found.words}, or null", found.shape) if schema.get("nullable") else found


def _bare_kind(schema: dict[str, Any]) -> Kind:
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(_TO_SHAPE)
        shape = _resolved(schema)
        return _bare_kind(shape) if _is_small(shape) else Kind(name, name)
    for key in ("allOf", "oneOf", "anyOf"):
        if key in schema:
            kinds = [_bare_kind(part) for part in schema[key]]
            words = " or ".join(dict.fromkeys(kind.words for kind in kinds if kind.words))
            return Kind(words, next((kind.shape for kind in kinds if kind.shape), ""))
    if "enum" in schema:
        return Kind(" | ".join(json.dumps(value) for value in schema["enum"] if value is not None))
    if schema.get("type") == "array":
        inner = _kind(schema.get("items", {}))
        return Kind(f"array of {inner.words}", inner.shape)
    values = schema.get("additionalProperties")
    if isinstance(values, dict) and values and "properties" not in schema:
        inner = _kind(values)
        return Kind(f"object of {inner.words}", inner.shape)
    form = schema.get("format")
    plain = str(schema.get("type", "any value"))
    return Kind(f"{plain} ({form})" if form and form not in ("double", "int64") else plain)


def _is_small(shape: dict[str, Any]) -> bool:
    """What is said where it is used rather than in a place of its own: lists of words."""
    return shape.get("type") != "object" and "properties" not in shape


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        schema = description()["components"]["schemas"][schema["$ref"].removeprefix(_TO_SHAPE)]
    return schema


def _sentence(schema: dict[str, Any]) -> str:
    """Help, default and limits."""
    text = schema.get("description", "").partition("* `")[0].strip()
    limits = [
        said.format(schema[key])
        for key, said in _LIMITS.items()
        if key in schema and abs(schema[key]) < _MOST and schema[key] != 0
    ]
    if schema.get("default") is not None:
        limits.append(f"{json.dumps(schema['default'], ensure_ascii=False)} if left out")
    said = ", ".join(limits)
    return " ".join(part for part in (text, f"{said[:1].upper()}{said[1:]}." if said else "") if part)
