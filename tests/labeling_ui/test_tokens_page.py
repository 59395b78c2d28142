"""The page of an account's tokens."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.access import tokens
from annotation.models import ApiToken, Membership, User
from tests.factories import StudyFactory, UserFactory, member

pytestmark = pytest.mark.django_db

FIELDS = {"name": "nightly export", "scopes": ["read", "manage"], "days": 30}


@pytest.fixture
def user(study) -> User:
    return member(study)


@pytest.fixture
def signed_in(client, user) -> Client:
    client.force_login(user)
    return client


def page(client: Client) -> str:
    response = client.get(reverse("tokens"))
    assert response["Cache-Control"].startswith("max-age=0, no-cache, no-store")
    return response.text


def test_it_is_for_whoever_is_signed_in(client):
    for name, arguments in (("tokens", []), ("revoke_token", [1])):
        assert client.post(reverse(name, args=arguments)).url.startswith(reverse("sign_in"))
    client.force_login(UserFactory())
    assert reverse("tokens") in client.get(reverse("password_change")).text
    assert "Make a token" in page(client)


def test_a_new_token_is_shown_once_and_works(signed_in, user):
    made = signed_in.post(reverse("tokens"), FIELDS).text
    secret = re.search(r'value="(concord_[^"]+)"', made)[1]
    token = ApiToken.objects.get()
    assert (token.scopes, token.study_ids) == (["read", "manage"], None)
    assert timedelta(days=29) < token.expires_at - timezone.now() < timedelta(days=30)
    assert secret not in page(signed_in)
    address = re.search(r'\$CONCORD_TOKEN" (\S+)</code>', made)[1]
    assert Client().get(address).status_code == 401
    assert Client().get(address, headers={"Authorization": f"Bearer {secret}"}).status_code == 200


def test_it_can_be_limited_to_studies_one_takes_part_in(signed_in, user, study):
    foreign = StudyFactory(slug="foreign", title="Not theirs")
    assert "Not theirs" not in page(signed_in)
    refused = signed_in.post(reverse("tokens"), {**FIELDS, "studies": [foreign.slug]}).text
    assert "foreign is not one of the available choices" in refused
    assert ApiToken.objects.count() == 0
    signed_in.post(reverse("tokens"), {**FIELDS, "studies": [study.slug]})
    assert ApiToken.objects.get().study_ids == [study.pk]
    Membership.objects.all().delete()
    assert "a study you have left" in page(signed_in)


@pytest.mark.parametrize("wrong", [{"name": " "}, {"scopes": []}, {"scopes": ["all"]}, {"days": 366}])
def test_what_is_wrong_is_said_at_its_field_and_makes_nothing(signed_in, wrong):
    shown = signed_in.post(reverse("tokens"), {**FIELDS, **wrong}).text
    assert 'class="problem"' in shown
    assert "concord_" not in shown
    assert ApiToken.objects.count() == 0


def test_too_many_are_refused_in_a_sentence(signed_in, user, monkeypatch):
    monkeypatch.setattr(tokens, "MAX_TOKENS", 1)
    signed_in.post(reverse("tokens"), FIELDS)
    assert "Revoke one that you do not need" in signed_in.post(reverse("tokens"), FIELDS).text


def test_one_is_revoked_by_its_owner_alone(signed_in, user):
    token, secret = tokens.create_token(user, name="mine", scopes=["read"], days=1)
    stranger = Client()
    stranger.force_login(UserFactory())
    assert stranger.post(reverse("revoke_token", args=[token.pk])).status_code == 404
    assert tokens.authenticate_token(secret)
    answer = signed_in.post(reverse("revoke_token", args=[token.pk]), follow=True).text
    assert "The next request with it is refused." in answer
    assert reverse("revoke_token", args=[token.pk]) not in answer
    assert tokens.authenticate_token(secret) is None


def test_many_cost_no_more_queries_than_one(signed_in, user, study, django_assert_num_queries):
    for number in range(3):
        tokens.create_token(user, name=f"token {number}", scopes=["read"], days=1, studies=[study.slug])
    with django_assert_num_queries(4):  # account, studies to choose from, tokens, titles
        page(signed_in)
