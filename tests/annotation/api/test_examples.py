"""The examples in the API's description: one for each call with a body, and each as its own shapes say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema

from annotation.api.schema import openapi_schema

JSON = "application/json"
# A preview keeps no judgment to answer with; the others are files in any of several formats.
WITHOUT = {"preview_own_judgment", "report_file", "comparison_file"}


def strict(value: Any) -> Any:
    """A shape of OpenAPI 3.0 as JSON Schema, which knows no `nullable`."""
    if isinstance(value, list):
        return [strict(each) for each in value]
    if not isinstance(value, dict):
        return value
    inner = {name: strict(each) for name, each in value.items() if name != "nullable"}
    return {"anyOf": [inner, {"type": "null"}]} if value.get("nullable") is True else inner


def contents() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for methods in openapi_schema()["paths"].values():
        for call in methods.values():
            places = [("request", call.get("requestBody", {}))]
            places += [(status, said) for status, said in call["responses"].items() if status[0] == "2"]
            for place, about in places:
                if JSON in about.get("content", {}) and call["operationId"] not in WITHOUT:
                    yield call["operationId"], place, about["content"][JSON]


def test_every_call_with_a_body_has_an_example_that_fits_its_shapes():
    components = {"components": strict(openapi_schema()["components"])}
    faults = []
    for call, place, content in contents():
        if "example" not in content:
            faults.append((call, place, "has none: run record_examples.py"))
            continue
        checker = jsonschema.Draft7Validator({**components, **strict(content["schema"])})
        faults += [
            (call, place, error.json_path, error.message[:200])
            for error in checker.iter_errors(content["example"])
        ]
    assert faults == []
