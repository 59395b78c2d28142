"""The API's description (OpenAPI) as what the reference page shows: calls by subject, and the shapes they name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from annotation.api.schema import openapi_schema
from annotation.api.serializers import In

_SCHEMA_REF = "#/components/schemas/"
_LIMITS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
}
# An integer's bounds in the database are no news to anybody.
_DATABASE_BOUND = 2**63 - 1


@dataclass(frozen=True)
class TypeName:
    """What a value is: words, and the shape they name, if any."""

    words: str
    shape: str = ""


@dataclass(frozen=True)
class Field:
    name: str
    kind: TypeName
    required: bool
    help: str
    # Where a parameter goes: path, query or header.
    place: str = ""


@dataclass(frozen=True)
class Body:
    media: str
    kind: TypeName
    fields: tuple[Field, ...]
    example: str


@dataclass(frozen=True)
class Response:
    status: str
    description: str
    bodies: tuple[Body, ...]


@dataclass(frozen=True)
class Operation:
    id: str
    method: str
    path: str
    summary: str
    more: str
    scope: str
    parameters: tuple[Field, ...]
    bodies: tuple[Body, ...]
    answers: tuple[Response, ...]
    refusals: tuple[Response, ...]


@dataclass(frozen=True)
class Schema:
    name: str
    about: str
    fields: tuple[Field, ...]
    kind: TypeName


@dataclass(frozen=True)
class ApiReference:
    subjects: dict[str, list[Operation]]
    shapes: list[Schema]


@cache
def api_reference() -> ApiReference:
    """Made once for each process, as the description is."""
    described = openapi_schema()
    subjects: dict[str, list[Operation]] = {tag["name"]: [] for tag in described["tags"]}
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            subjects[operation["tags"][0]].append(_operation(path, method, operation))
    shapes = [
        Schema(
            name,
            "" if shape.get("description") == In.__doc__ else _help_text(shape),
            tuple(_fields(shape)),
            _type_name(shape),
        )
        for name, shape in described["components"]["schemas"].items()
        if not _is_inline(shape)
    ]
    return ApiReference({name: calls for name, calls in subjects.items() if calls}, shapes)


def _operation(path: str, method: str, operation: dict[str, Any]) -> Operation:
    text, _, scope = operation["description"].rpartition("Scope: `")
    summary, _, more = text.strip().partition("\n\n")
    answers = [
        Response(status, response.get("description", ""), tuple(_bodies(response)))
        for status, response in sorted(operation["responses"].items())
    ]
    return Operation(
        id=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=summary.replace("\n", " "),
        more=more.strip(),
        scope=scope.partition("`")[0],
        parameters=tuple(
            Field(
                parameter["name"], _type_name(parameter["schema"]), parameter.get("required", False),
                parameter.get("description", ""), parameter["in"],
            )
            for parameter in operation.get("parameters", [])
        ),
        bodies=tuple(_bodies(operation.get("requestBody", {}))),
        answers=tuple(answer for answer in answers if answer.status[0] in "23"),
        refusals=tuple(answer for answer in answers if answer.status[0] not in "23"),
    )  # fmt: skip


def _bodies(place: dict[str, Any]) -> Iterator[Body]:
    for media, content in place.get("content", {}).items():
        schema, example = content.get("schema", {}), content.get("example")
        written = "" if example is None else json.dumps(example, indent=2, ensure_ascii=False)
        yield Body(media, _type_name(schema), tuple(_fields(_resolved(schema))), written)


def _fields(shape: dict[str, Any]) -> Iterator[Field]:
    required = shape.get("required", ())
    for name, schema in shape.get("properties", {}).items():
        yield Field(name, _type_name(schema), name in required, _help_text(schema))


def _type_name(schema: dict[str, Any]) -> TypeName:
    """A type in words: `array of ItemOut, or null`."""
    bare = _bare_type_name(schema)
    return TypeName(f"{bare.words}, or null", bare.shape) if schema.get("nullable") else bare


def _bare_type_name(schema: dict[str, Any]) -> TypeName:
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(_SCHEMA_REF)
        shape = _resolved(schema)
        return _bare_type_name(shape) if _is_inline(shape) else TypeName(name, name)
    for key in ("allOf", "oneOf", "anyOf"):
        if key in schema:
            kinds = [_bare_type_name(part) for part in schema[key]]
            words = " or ".join(dict.fromkeys(kind.words for kind in kinds if kind.words))
            return TypeName(words, next((kind.shape for kind in kinds if kind.shape), ""))
    if "enum" in schema:
        return TypeName(" | ".join(json.dumps(value) for value in schema["enum"] if value is not None))
    if schema.get("type") == "array":
        inner = _type_name(schema.get("items", {}))
        return TypeName(f"array of {inner.words}", inner.shape)
    values = schema.get("additionalProperties")
    if isinstance(values, dict) and values and "properties" not in schema:
        inner = _type_name(values)
        return TypeName(f"object of {inner.words}", inner.shape)
    form = schema.get("format")
    plain = str(schema.get("type", "any value"))
    return TypeName(f"{plain} ({form})" if form and form not in ("double", "int64") else plain)


def _is_inline(shape: dict[str, Any]) -> bool:
    """What is said where it is used rather than in a place of its own: lists of words."""
    return shape.get("type") != "object" and "properties" not in shape


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        schema = openapi_schema()["components"]["schemas"][schema["$ref"].removeprefix(_SCHEMA_REF)]
    return schema


def _help_text(schema: dict[str, Any]) -> str:
    """Help, default and limits."""
    text = schema.get("description", "").partition("* `")[0].strip()
    limits = [
        sentence.format(schema[key])
        for key, sentence in _LIMITS.items()
        if key in schema and abs(schema[key]) < _DATABASE_BOUND and schema[key] != 0
    ]
    if schema.get("default") is not None:
        limits.append(f"{json.dumps(schema['default'], ensure_ascii=False)} if left out")
    if not limits:
        return text
    sentence = ", ".join(limits)
    return f"{text} {sentence[:1].upper()}{sentence[1:]}.".strip()
