"""Personal tokens: kept as a digest; what their scopes and studies let through, and what nobody gets by one."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from annotation.access import tokens
from annotation.errors import Conflict, InvalidInput, NotFound
from annotation.models import ApiToken, AuditEvent, Membership
from annotation.studies import members
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    return factories.UserFactory()


def make(user, **changed):
    return tokens.create_token(user, **{"name": "laptop", "scopes": ["read"], "days": 30, **changed})


def test_its_account_is_found_by_the_secret_alone_which_is_in_no_column(user):
    token, secret = make(user, scopes=["rate", "read"])
    token.refresh_from_db()
    stored = " ".join(str(value) for value in vars(token).values())
    assert secret.startswith(token.prefix)
    assert secret[len(token.prefix) :] not in stored
    found, in_use = tokens.authenticate_token(secret)
    assert (found, in_use.scopes) == (user, {"read", "rate"})
    for unknown in (secret + "x", "", "concord_\ud800\x00"):
        assert tokens.authenticate_token(unknown) is None


def test_it_ends_when_it_expires_is_revoked_or_its_account_is_closed(user):
    token, secret = make(user)
    ApiToken.objects.filter(pk=token.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert tokens.authenticate_token(secret) is None
    token, secret = make(user)
    tokens.revoke_token(user, token.pk)
    assert tokens.authenticate_token(secret) is None
    token, secret = make(user)
    user.is_active = False
    user.save()
    assert tokens.authenticate_token(secret) is None


def test_its_use_is_noted_once_in_a_while_not_for_each_request(user, django_assert_num_queries):
    token, secret = make(user)
    with django_assert_num_queries(2):
        tokens.authenticate_token(secret)
    with django_assert_num_queries(1):
        tokens.authenticate_token(secret)
    token.refresh_from_db()
    assert token.last_used_at is not None
    ApiToken.objects.update(last_used_at=timezone.now() - tokens.LAST_USED_RESOLUTION * 2)
    with django_assert_num_queries(2):
        tokens.authenticate_token(secret)


def test_making_and_revoking_are_in_the_log_without_the_secret(user):
    token, secret = make(user)
    tokens.revoke_token(user, token.pk)
    tokens.revoke_token(user, token.pk)
    events = AuditEvent.objects.filter(action__startswith="token.")
    assert [event.action for event in events.order_by("pk")] == ["token.made", "token.revoked"]
    assert all(secret not in str(event.data) for event in events)


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"name": " "}, "name"),
        ({"scopes": []}, "scopes"),
        ({"scopes": ["all"]}, "scopes"),
        ({"days": 0}, "days"),
        ({"days": 366}, "days"),
        ({"studies": []}, "studies"),
        ({"studies": ["nowhere"]}, "studies"),
        ({"studies": ["theirs"]}, "studies"),
    ],
)
def test_what_makes_no_sense_is_refused_by_field(user, changed, field):
    factories.StudyFactory(slug="theirs")
    with pytest.raises(InvalidInput) as refused:
        make(user, **changed)
    assert [problem.field for problem in refused.value.problems] == [field]
    assert not ApiToken.objects.exists()


def test_nobody_revokes_anothers(user):
    token, secret = make(user)
    with pytest.raises(NotFound):
        tokens.revoke_token(factories.UserFactory(), token.pk)
    assert tokens.authenticate_token(secret) is not None


def test_an_account_has_only_so_many(user, monkeypatch):
    monkeypatch.setattr(tokens, "MAX_TOKENS", 2)
    make(user)
    token, _ = make(user)
    with pytest.raises(Conflict, match="2 tokens"):
        make(user)
    tokens.revoke_token(user, token.pk)
    make(user)


# ── Signing in with a token ──────────────────────────────────────────────────


@pytest.fixture
def by_token():
    """`by_token(user, "read")` calls with a new token of these scopes, under CSRF checks."""

    def make(user, *scopes: str, studies=None):
        _, secret = tokens.create_token(user, name="x", scopes=scopes, days=1, studies=studies)
        client = Client(enforce_csrf_checks=True, headers={"Authorization": f"Bearer {secret}"})

        def call(method: str, path: str, body=None):
            return getattr(client, method)(f"/api/v1/{path}", body, content_type="application/json")

        return call

    return make


def title_of(response) -> tuple[int, str]:
    assert response["Content-Type"] == "application/problem+json"
    return response.status_code, response.json()["title"]


def test_it_reads_and_writes_what_its_scopes_name(world, by_token):
    reading = by_token(world.researcher, "read")
    assert reading("get", "studies/here/").status_code == 200
    refused = reading("patch", "studies/here/", {"title": "x"})
    assert title_of(refused) == (403, "scope_missing")
    assert "`manage`" in refused.json()["detail"]
    managing = by_token(world.researcher, "manage")
    assert managing("patch", "studies/here/", {"title": "x"}).status_code == 200
    assert title_of(managing("get", "studies/here/")) == (403, "scope_missing")


def test_it_rates_with_the_scope_for_that_and_allows_no_more_than_its_account(world, by_token):
    assert by_token(world.annotator, "rate")("post", "studies/here/next/", {}).status_code == 200
    managing = by_token(world.annotator, "read", "manage")
    assert title_of(managing("post", "studies/here/next/", {})) == (403, "scope_missing")
    assert title_of(managing("get", "studies/here/judgments/")) == (403, "not_allowed")
    assert by_token(factories.UserFactory(), "read")("get", "studies/here/").status_code == 404


def test_it_loses_a_study_with_the_membership_and_everything_with_the_account(world, by_token):
    call = by_token(world.researcher, "read")
    Membership.objects.filter(user=world.researcher).delete()
    assert call("get", "studies/here/").status_code == 404
    world.researcher.is_active = False
    world.researcher.save()
    assert call("get", "me/").status_code == 401


def test_one_that_is_not_valid_is_refused_also_beside_a_valid_session(world, client):
    response = client.get("/api/v1/me/", headers={"Authorization": "Bearer concord_nothing"})
    assert title_of(response) == (401, "authentication_failed")
    assert response["WWW-Authenticate"].startswith("Bearer ")
    client.force_login(world.annotator)
    assert client.get("/api/v1/me/", headers={"Authorization": "Bearer x"}).status_code == 401


def test_one_for_some_studies_finds_nothing_in_the_others(world, elsewhere, by_token):
    members.add_member(elsewhere.study, world.researcher, role="researcher", actor=None)
    call = by_token(world.researcher, "read", "manage", studies=["here"])
    assert call("get", "studies/here/items/").status_code == 200
    assert [row["slug"] for row in call("get", "studies/").json()["results"]] == ["here"]
    assert [row["study"] for row in call("get", "me/").json()["roles"]] == ["here"]
    for path in ("studies/elsewhere/", f"jobs/{elsewhere.job.pk}/", f"scoring-runs/{elsewhere.run.pk}/"):
        assert title_of(call("get", path)) == (404, "not_found")
    assert title_of(call("post", "join/", {"token": "x"})) == (403, "token_limited")


def test_one_for_some_studies_cannot_rate_in_the_others(world, elsewhere, by_token):
    members.add_member(elsewhere.study, world.annotator, role="annotator", actor=None)
    call = by_token(world.annotator, "read", "rate", studies=["elsewhere"])
    assert call("post", "studies/here/next/", {}).status_code == 404
    for method, path in (
        ("get", ""), ("get", "clips/a/"), ("post", "heartbeat/"), ("post", "give-back/"),
    ):  # fmt: skip
        assert call(method, f"assignments/{world.open.pk}/{path}").status_code == 404
    assert call("post", f"checks/{world.check.pk}/answers/", {"trial": 0, "choice": 0}).status_code == 404


def test_a_session_makes_lists_and_revokes_them(world, api):
    me = api(world.researcher)
    made = me.post("tokens/", {"name": "x", "scopes": ["read"], "days": 1, "studies": ["here"]})
    assert made.status_code == 201
    secret = made.json()["token"]
    listed = me.get("tokens/").json()["results"]
    assert [row["study_ids"] for row in listed] == [[world.study.pk]]
    assert secret not in me.get("tokens/").content.decode()
    bearer = {"Authorization": f"Bearer {secret}"}
    assert Client().get("/api/v1/studies/here/", headers=bearer).status_code == 200
    assert me.delete(f"tokens/{listed[0]['id']}/").status_code == 204
    assert Client().get("/api/v1/studies/here/", headers=bearer).status_code == 401


def test_a_token_makes_no_tokens_and_faults_in_an_order_for_one_name_the_field(world, api, by_token):
    body = {"name": "x", "scopes": ["manage"], "days": 1}
    call = by_token(world.researcher, "read", "manage")
    assert title_of(call("post", "tokens/", body)) == (403, "session_needed")
    n_tokens = ApiToken.objects.count()
    response = api(world.researcher).post("tokens/", {**body, "scopes": ["all"]})
    assert title_of(response) == (400, "invalid")
    assert response.json()["errors"][0]["field"].startswith("scopes")
    assert ApiToken.objects.count() == n_tokens
