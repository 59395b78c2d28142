"""Sign-ins and sign-outs leave a trace, whichever door they came through."""

from __future__ import annotations

import pytest

from annotation.models import AuditEvent
from tests import factories

pytestmark = pytest.mark.django_db


def events() -> list[tuple[str, str]]:
    return [(event.action, event.actor.email) for event in AuditEvent.objects.order_by("id")]


def test_signing_in_and_out_is_logged(client):
    user = factories.UserFactory()
    assert client.login(username=user.email, password=factories.PASSWORD)
    client.logout()
    assert events() == [("user.signed_in", user.email), ("user.signed_out", user.email)]


def test_a_wrong_password_is_no_sign_in(client):
    user = factories.UserFactory()
    assert not client.login(username=user.email, password="wrong")
    assert events() == []


def test_a_visitor_who_signs_out_leaves_no_trace(client):
    client.logout()
    assert events() == []


def test_the_admins_door_is_logged_too(client):
    user = factories.UserFactory(is_staff=True, is_superuser=True)
    client.post("/admin/login/", {"username": user.email, "password": factories.PASSWORD, "next": "/admin/"})
    assert events() == [("user.signed_in", user.email)]
