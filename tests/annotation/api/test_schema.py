"""The OpenAPI schema: complete, valid, what the API does, and with an example that fits for each call with a body."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
import yaml
from django.core.management import call_command

from annotation.api.schema import openapi_schema
from tests import factories
from tests.annotation.review.test_permission_matrix import ROWS

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Generated the strict way: a warning is an error."""
    path = tmp_path_factory.mktemp("schema") / "schema.json"  # YAML would take seconds to write and to read
    options = ("--validate", "--fail-on-warn", "--format", "openapi-json")
    call_command("spectacular", *options, "--file", str(path))
    described: dict[str, Any] = json.loads(path.read_text())
    return described


def operations(schema: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def test_every_call_has_a_name_of_its_own_and_a_sentence(schema):
    names = Counter(operation["operationId"] for _, _, operation in operations(schema))
    assert [name for name, n in names.items() if n > 1] == []
    assert [path for path, _, operation in operations(schema) if not operation.get("description")] == []


def test_every_call_of_the_api_is_in_it(schema):
    served = Counter(row.method for row in ROWS if row.route != "api_schema")
    assert Counter(method for _, method, _ in operations(schema)) == served


def test_every_call_says_what_it_answers_when_all_is_well(schema):
    for path, method, operation in operations(schema):
        if operation["operationId"] == "preview_own_judgment":
            continue  # a preview keeps nothing: there never is one
        answers = [code for code in operation["responses"] if code.startswith("2")]
        assert answers, (method, path)
        for code in answers:
            assert code == "204" or operation["responses"][code]["content"], (method, path)


def test_every_refusal_is_a_problem(schema):
    for path, method, operation in operations(schema):
        refusals = {code: said for code, said in operation["responses"].items() if code.startswith("4")}
        assert "403" in refusals, (method, path)
        assert "404" in refusals or "{" not in path, (method, path)
        assert "400" in refusals or "requestBody" not in operation, (method, path)
        for code in set(refusals) - {"416"}:
            assert list(refusals[code]["content"]) == ["application/problem+json"], (method, path, code)


def test_every_parameter_has_a_type(schema):
    for path, method, operation in operations(schema):
        for parameter in operation.get("parameters", []):
            assert parameter["schema"].get("type"), (method, path, parameter["name"])


def test_it_is_served_to_those_who_are_signed_in(api):
    response = api(factories.UserFactory()).get("schema/")
    assert response.status_code == 200
    assert yaml.load(response.content, yaml.CSafeLoader)["info"]["title"] == "Concord"
    assert api(None).get("schema/").status_code == 401


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
