"""Listening checks over HTTP: what a browser gets, and what it never gets."""

from __future__ import annotations

import pytest

from annotation.listening import checks
from annotation.models import ListeningCheck
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(db):
    study = factories.StudyFactory(slug="s")
    factories.rating_task(study, "task")
    return checks.set_check_rules(study, actor=None, require=["antiphase", "level"])


@pytest.fixture
def me(api, study):
    return api(factories.member(study))


def start(me, kind="antiphase"):
    return me.post("studies/s/checks/", {"kind": kind}).json()


def test_it_tells_which_checks_are_due_in_the_order_to_take_them_and_no_task_comes_before(me):
    standings = me.get("studies/s/checks/").json()
    assert standings["due"] is True
    due = {"state": "due", "until": None, "tries_left": 3}
    assert standings["checks"] == [{"kind": kind, **due} for kind in ("level", "antiphase")]
    response = me.post("studies/s/next/")
    assert (response.status_code, response.json()["title"]) == (409, "checks_due")


def test_the_browser_learns_neither_the_right_answers_nor_the_seeds(me):
    check = start(me)
    assert set(check) == {
        "id", "kind", "state", "n_trials", "n_choices", "n_answered", "n_correct", "intervals"
    }  # fmt: skip
    answered = me.post(f"checks/{check['id']}/answers/", {"trial": 0, "choice": 1}).json()
    assert answered == {**check, "n_answered": 1}


def test_no_sound_can_be_told_from_another_by_its_headers(me):
    check = start(me)
    responses = [me.get(f"checks/{check['id']}/sounds/{trial}/") for trial in range(6)]
    assert {response.status_code for response in responses} == {200}
    first = dict(responses[0].items())
    assert all(dict(response.items()) == first for response in responses)
    assert first["Cache-Control"] == "no-store"
    assert first["Content-Type"] == "audio/flac"
    assert not {"ETag", "Last-Modified", "Content-Disposition"} & set(first)
    assert len({len(response.content) for response in responses}) == 1
    assert len({response.content for response in responses}) == 6


def test_the_last_answer_says_how_it_went(me):
    check = start(me)
    for number, trial in enumerate(ListeningCheck.objects.get().trials):
        said = me.post(f"checks/{check['id']}/answers/", {"trial": number, "choice": trial["key"]}).json()
    assert (said["state"], said["n_correct"], said["n_answered"]) == ("passed", 6, 6)
    standing = me.get("studies/s/checks/").json()["checks"][1]
    assert standing["state"] == "valid"


def test_a_kind_or_an_answer_that_is_none_is_refused(me):
    assert me.post("studies/s/checks/", {"kind": "echo"}).status_code == 400
    for body in ({}, {"trial": 0}, {"trial": 0, "choice": "first"}, {"trial": 0, "choice": 3}):
        assert me.post(f"checks/{start(me)['id']}/answers/", body).status_code == 400
