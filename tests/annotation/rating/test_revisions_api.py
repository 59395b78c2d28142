"""A rater's own vote over HTTP: shown again, changed, and never under another account."""

from __future__ import annotations

import uuid

import pytest

from annotation.access.sign_in import account_key
from annotation.models import Judgment
from annotation.rating.briefings import brief
from tests.annotation.importing.answers import comparison

pytestmark = pytest.mark.django_db


def body(**fields):
    return {"client_id": str(uuid.uuid4()), "answers": list(comparison(alignment="B").answers), **fields}


@pytest.fixture
def me(api, world):
    return api(world.annotator)


def paths(world):
    return [f"assignments/{world.submitted.pk}/{name}/" for name in ("judgment", "revisions")]


def test_a_vote_is_shown_again_with_its_task_as_it_was(me, world):
    judgment, _ = paths(world)
    shown = me.get(judgment).json()
    assert shown["answers"] == list(comparison(alignment="A").answers)
    assert (shown["codes"], shown["comment"], shown["revision"]) == ([], "", 1)
    assert shown["client_id"] == str(world.judgment.client_id)
    assert shown["assignment"]["id"] == str(world.submitted.pk)
    assert [c["label"] for c in shown["assignment"]["candidates"]] == ["A", "B"]
    assert shown["changeable_until"] > shown["submitted_at"]
    assert set(shown["assignment"]) == set(brief(world.submitted))


def test_a_change_is_stored_and_shown_from_then_on(me, world):
    judgment, revisions = paths(world)
    sent = body(codes=[], comment="", telemetry={"v": 1, "switches": 3})
    first, again = me.post(revisions, sent), me.post(revisions, sent)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json() == {"client_id": sent["client_id"]}
    shown = me.get(judgment).json()
    assert (shown["answers"], shown["telemetry"]) == (sent["answers"], sent["telemetry"])
    assert Judgment.objects.filter(assignment=world.submitted, effective=True).get().revision == 2


def test_a_change_that_is_not_complete_or_after_the_window_is_refused(me, world):
    response = me.post(paths(world)[1], body(answers=[{"question": "alignment", "choice": "A"}]))
    assert response.status_code == 400
    assert "answers[0].confidence" in [error["field"] for error in response.json()["errors"]]
    type(world.study).objects.update(rules={"listening": {"change_minutes": 0}})
    response = me.post(paths(world)[1], body())
    assert (response.status_code, response.json()["title"]) == (409, "window_closed")
    assert me.get(f"assignments/{world.open.pk}/judgment/").status_code == 404  # not answered yet


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_page_of_one_account_does_nothing_under_another(api, world, method):
    me = api(world.annotator)
    path = f"assignments/{world.open.pk}/"
    path = path if method == "get" else path + "judgment/"
    sent = None if method == "get" else body()
    other = {"X-Concord-Account": account_key(world.expert)}
    own = {"X-Concord-Account": account_key(world.annotator)}
    refused = me.call(method, path, sent, **other)
    assert (refused.status_code, refused.json()["title"]) == (403, "other_account")
    assert me.call(method, path, sent, **own).status_code in (200, 201)


def test_an_accounts_key_is_its_own_and_stays(world):
    keys = {account_key(user) for user in (world.annotator, world.expert, world.researcher)}
    assert len(keys) == 3
    assert account_key(world.annotator) in keys
