"""The page that tells people what programs can do."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from annotation.api.schema import openapi_schema
from labeling_ui.account.api_reference import api_reference
from tests.factories import UserFactory


@pytest.fixture
def page(client, db) -> str:
    assert client.get(reverse("api_docs")).url.startswith(reverse("sign_in"))
    client.force_login(UserFactory())
    response = client.get(reverse("api_docs"))
    assert response.status_code == 200
    return response.text


def test_it_tells_of_every_call_with_its_scope_and_refusals():
    calls = {call["id"]: call for calls in api_reference()["subjects"].values() for call in calls}
    described = [call for methods in openapi_schema()["paths"].values() for call in methods.values()]
    assert calls.keys() == {call["operationId"] for call in described}
    for call in calls.values():
        assert call["summary"]
        assert call["scope"] in ("read", "rate", "review", "manage")
        assert "403" in {answer["status"] for answer in call["refusals"]}


def test_fields_say_what_they_are():
    (shape,) = (shape for shape in api_reference()["shapes"] if shape["name"] == "TokenIn")
    fields = {field["name"]: field for field in shape["fields"]}
    assert fields["name"]["required"]
    assert fields["scopes"]["kind"].words == 'array of "read" | "rate" | "review" | "manage"'
    assert fields["studies"]["kind"].words == "array of string, or null"
    assert "at most 365" in fields["days"]["help"]
    assert fields["days"]["kind"].words == "integer"


def test_every_link_within_it_leads_somewhere(page):
    places = set(re.findall(r' id="([^"]+)"', page))
    assert set(re.findall(r'href="#([^"]+)"', page)) - places == set()
    assert {"op-make_token", "shape-TokenIn", "about-webhooks"} <= places


def test_it_is_made_once_and_needs_no_script_of_its_own(page, client, django_assert_num_queries):
    assert re.findall(r"<script(?![^>]* src=)", page) == []
    with django_assert_num_queries(1):  # the account
        assert client.get(reverse("api_docs")).text.count('class="call"') == page.count('class="call"')
