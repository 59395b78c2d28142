"""One write that a program sends several times at once, because the first answer is late, is done once."""

from __future__ import annotations

import time

import pytest
from django.test import Client

from annotation.api import idempotency
from annotation.models import Invitation, User
from annotation.studies import members
from tests import factories

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.concurrency]

N = 6


@pytest.fixture
def researcher(monkeypatch) -> User:
    study = factories.StudyFactory(slug="here")
    invite = members.invite

    def late(*args, **fields):
        made = invite(*args, **fields)
        time.sleep(0.3)  # before it is committed
        return made

    monkeypatch.setattr(members, "invite", late)
    return factories.member(study, "researcher")


def asking(user: User):
    client = Client()
    client.force_login(user)

    def ask():
        return client.post(
            "/api/v1/studies/here/invitations/",
            {"role": "annotator"},
            content_type="application/json",
            headers={"Idempotency-Key": "one-and-the-same"},
        )

    return ask


def test_one_does_it_and_the_others_are_told_so(researcher, at_once):
    asks = [asking(researcher) for _ in range(N)]
    answers = at_once(asks)
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * (N - 1)
    # The answer to this one holds a secret, which is not kept.
    assert asks[0]().json()["title"] == "done_before"
    assert Invitation.objects.count() == 1


def test_without_turns_each_would_do_it(researcher, at_once, monkeypatch):
    """Why they take turns."""
    monkeypatch.setattr(idempotency, "try_lock_key", lambda *_: True)
    at_once([asking(researcher) for _ in range(N)])
    assert Invitation.objects.count() == N
