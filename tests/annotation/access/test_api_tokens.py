"""Personal tokens: shown once, kept as a digest, never more than their account."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.access import tokens
from annotation.errors import Conflict, InvalidInput, NotFound
from annotation.models import ApiToken, AuditEvent
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    return factories.UserFactory()


def make(user, **changed):
    return tokens.create_token(user, **{"name": "laptop", "scopes": ["read"], "days": 30, **changed})


def test_the_secret_is_in_no_column(user):
    token, secret = make(user)
    token.refresh_from_db()
    stored = " ".join(str(value) for value in vars(token).values())
    assert secret.startswith(token.prefix)
    assert secret not in stored
    assert secret[len(token.prefix) :] not in stored


def test_its_account_is_found_by_the_secret_alone(user):
    _, secret = make(user, scopes=["rate", "read"])
    found, token = tokens.authenticate_token(secret)
    assert found == user
    assert token.scopes == {"read", "rate"}
    assert tokens.authenticate_token(secret + "x") is None
    assert tokens.authenticate_token("") is None
    assert tokens.authenticate_token("concord_\ud800\x00") is None


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
