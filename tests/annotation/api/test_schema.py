"""The OpenAPI schema: complete, valid, and what the API does."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from django.core.management import call_command

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
