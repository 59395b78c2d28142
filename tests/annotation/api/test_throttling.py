"""Limits on how often the API may be called."""

from __future__ import annotations

import pytest
from django.test import Client

from annotation.access import tokens
from annotation.api import authentication
from tests.annotation.world import link

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _limits(settings):
    settings.API_CALLS_PER_MINUTE = {"read": 3, "rate": 5, "review": 2, "manage": 2, "refused": 2}
    authentication.call_limiter.clear()
    authentication.invalid_token_limiter.clear()
    yield
    authentication.call_limiter.clear()
    authentication.invalid_token_limiter.clear()


def test_too_many_calls_are_told_when_to_come_again(api, world):
    me = api(world.researcher)
    responses = [me.get("me/") for _ in range(4)]
    assert [response.status_code for response in responses] == [200, 200, 200, 429]
    refused = responses[-1]
    assert refused["Content-Type"] == "application/problem+json"
    assert refused.json()["title"] == "throttled"
    assert 1 <= int(refused["Retry-After"]) <= 20


def test_each_scope_has_its_own_and_each_account_too(api, world):
    me = api(world.researcher)
    for _ in range(4):
        me.get("me/")
    assert me.patch("studies/here/", {"title": "x"}).status_code == 200
    assert api(world.admin).get("me/").status_code == 200


def test_a_token_does_not_use_up_what_its_owner_has(api, world):
    _, secret = tokens.create_token(world.researcher, name="x", scopes=["read"], days=1)
    program = Client(headers={"Authorization": f"Bearer {secret}"})
    assert [program.get("/api/v1/me/").status_code for _ in range(4)][-1] == 429
    assert api(world.researcher).get("me/").status_code == 200


def test_sound_is_not_counted(api, world):
    me = api(world.annotator)
    assert {me.get(link(world.open.pk, "a")).status_code for _ in range(6)} == {200}


def test_counting_costs_no_query(api, world, django_assert_num_queries):
    me = api(world.annotator)
    me.get("me/")
    with django_assert_num_queries(2):
        me.get("me/")


def test_tokens_that_are_not_valid_are_counted_by_where_they_come_from():
    def guess(address: str) -> int:
        client = Client(headers={"Authorization": "Bearer concord_guess"}, REMOTE_ADDR=address)
        return client.get("/api/v1/me/").status_code

    assert [guess("198.51.100.7") for _ in range(3)] == [401, 401, 429]
    assert guess("198.51.100.8") == 401
    assert [guess(f"2001:db8::{n}") for n in range(1, 4)] == [401, 401, 429]


@pytest.mark.parametrize(("behind", "expected"), [(True, [401, 401, 401]), (False, [401, 401, 429])])
def test_a_proxy_is_believed_only_where_there_is_one(settings, behind, expected):
    settings.BEHIND_PROXY = behind
    headers = [{"X-Forwarded-For": f"spoofed, 203.0.113.{n}", "Authorization": "Bearer x"} for n in range(3)]
    assert [Client().get("/api/v1/me/", headers=each).status_code for each in headers] == expected
