"""The API's description (OpenAPI) as what the reference page shows: calls by subject, and the shapes they name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from annotation.api.schema import openapi_schema

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


class TypeName(NamedTuple):
    """What a value is: words, and the shape they name, if any."""

    words: str
    shape: str = ""


@cache
def api_reference() -> dict[str, Any]:
    """The calls of each subject, and the shapes that they name. Made once for each process, as the description is."""
    described = openapi_schema()
    subjects: dict[str, list[dict[str, Any]]] = {tag["name"]: [] for tag in described["tags"]}
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            subjects[operation["tags"][0]].append(_operation(path, method, operation))
    shapes = [
        {
            "name": name,
            "about": _help_text(shape),
            "fields": list(_fields(shape)),
            "kind": _type_name(shape),
        }
        for name, shape in described["components"]["schemas"].items()
        if not _is_inline(shape)
    ]
    return {"subjects": {name: calls for name, calls in subjects.items() if calls}, "shapes": shapes}


def _operation(path: str, method: str, operation: dict[str, Any]) -> dict[str, Any]:
    text, _, scope = operation["description"].rpartition("Scope: `")
    summary, _, more = text.strip().partition("\n\n")
    answers = [
        {"status": status, "description": response.get("description", ""), "bodies": list(_bodies(response))}
        for status, response in sorted(operation["responses"].items())
    ]
    return {
        "id": operation["operationId"],
        "method": method.upper(),
        "path": path,
        "summary": summary.replace("\n", " "),
        "more": more.strip(),
        "scope": scope.partition("`")[0],
        "parameters": [
            {
                "name": parameter["name"],
                "kind": _type_name(parameter["schema"]),
                "required": parameter.get("required", False),
                "help": parameter.get("description", ""),
                "place": parameter["in"],
            }
            for parameter in operation.get("parameters", [])
        ],
        "bodies": list(_bodies(operation.get("requestBody", {}))),
        "answers": [answer for answer in answers if answer["status"][0] in "23"],
        "refusals": [answer for answer in answers if answer["status"][0] not in "23"],
    }


def _bodies(place: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for media, content in place.get("content", {}).items():
        schema, example = content.get("schema", {}), content.get("example")
        yield {
            "media": media,
            "kind": _type_name(schema),
            "fields": list(_fields(_resolved(schema))),
            "example": "" if example is None else json.dumps(example, indent=2, ensure_ascii=False),
        }


def _fields(shape: dict[str, Any]) -> Iterator[dict[str, Any]]:
    required = shape.get("required", ())
    for name, schema in shape.get("properties", {}).items():
        kind = _type_name(schema)
        yield {"name": name, "kind": kind, "required": name in required, "help": _help_text(schema)}


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
    text: str = schema.get("description", "").partition("* `")[0].strip()
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
