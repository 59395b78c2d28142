"""Personal tokens: shown once, kept as a digest, never more than their account."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.errors import Conflict, InvalidInput, NotFound
from annotation.models import ApiToken, AuditEvent
from annotation.services import api_tokens
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    return factories.UserFactory()


def make(user, **changed):
    return api_tokens.make(user, **{"name": "laptop", "scopes": ["read"], "days": 30, **changed})


def test_the_secret_is_in_no_column(user):
    token, secret = make(user)
    token.refresh_from_db()
    stored = " ".join(str(value) for value in vars(token).values())
    assert secret.startswith(token.prefix)
    assert secret not in stored
    assert secret[len(token.prefix) :] not in stored


def test_its_account_is_found_by_the_secret_alone(user):
    _, secret = make(user, scopes=["rate", "read"])
    found, token = api_tokens.user_of(secret)
    assert found == user
    assert token.scopes == {"read", "rate"}
    assert api_tokens.user_of(secret + "x") is None
    assert api_tokens.user_of("") is None
    assert api_tokens.user_of("concord_\ud800\x00") is None


def test_it_ends_when_it_expires_is_revoked_or_its_account_is_closed(user):
    token, secret = make(user)
    ApiToken.objects.filter(pk=token.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert api_tokens.user_of(secret) is None
    token, secret = make(user)
    api_tokens.revoke(user, token.pk)
    assert api_tokens.user_of(secret) is None
    token, secret = make(user)
    user.is_active = False
    user.save()
    assert api_tokens.user_of(secret) is None


def test_its_use_is_noted_once_in_a_while_not_for_each_request(user, django_assert_num_queries):
    token, secret = make(user)
    with django_assert_num_queries(2):
        api_tokens.user_of(secret)
    with django_assert_num_queries(1):
        api_tokens.user_of(secret)
    token.refresh_from_db()
    assert token.last_used_at is not None
    ApiToken.objects.update(last_used_at=timezone.now() - api_tokens.USED_TO * 2)
    with django_assert_num_queries(2):
        api_tokens.user_of(secret)


def test_making_and_revoking_are_in_the_log_without_the_secret(user):
    token, secret = make(user)
    api_tokens.revoke(user, token.pk)
    api_tokens.revoke(user, token.pk)
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
    ],
)
def test_what_makes_no_sense_is_refused_by_field(user, changed, field):
    with pytest.raises(InvalidInput) as refused:
        make(user, **changed)
    assert [problem.field for problem in refused.value.problems] == [field]
    assert not ApiToken.objects.exists()


def test_it_is_limited_only_to_studies_that_its_account_takes_part_in(user):
    factories.StudyFactory(slug="theirs")
    with pytest.raises(InvalidInput):
        make(user, studies=["theirs"])


def test_nobody_revokes_anothers(user):
    token, secret = make(user)
    with pytest.raises(NotFound):
        api_tokens.revoke(factories.UserFactory(), token.pk)
    assert api_tokens.user_of(secret) is not None


def test_an_account_has_only_so_many(user, monkeypatch):
    monkeypatch.setattr(api_tokens, "MOST_TOKENS", 2)
    make(user)
    token, _ = make(user)
    with pytest.raises(Conflict, match="2 tokens"):
        make(user)
    api_tokens.revoke(user, token.pk)
    make(user)
