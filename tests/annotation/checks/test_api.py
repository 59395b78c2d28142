"""Known answers and settings of hidden checks over the API."""

from __future__ import annotations

import pytest

from annotation.checks.expected import ExpectedAnswer
from annotation.checks.keys import set_gold
from annotation.models import CheckOutcome, GoldKey, Study, Task
from annotation.models.people import Role
from annotation.rating import judgments
from tests import factories
from tests.annotation.checks.test_kinds import hold
from tests.annotation.importing.answers import rating

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    study = factories.StudyFactory(slug="s")
    factories.rating_task(study, "bell")
    return study


@pytest.fixture
def task(study) -> Task:
    return study.tasks.get()


@pytest.fixture
def admin(study, api):
    return api(factories.member(study, Role.ADMIN))


def expect(admin, task: Task, answer: str, **more):
    answers = [{"question": "correctness", "answer": answer, **more}]
    return admin.put(f"/api/v1/studies/s/tasks/{task.pk}/expected/", {"answers": answers})


def test_a_task_becomes_gold_and_the_response_says_what_it_expects(admin, task):
    response = expect(admin, task, "4", tolerance=1)
    assert response.status_code == 200
    assert response.json() == {
        "id": task.pk, "task": "bell", "kind": "gold", "expected": "correctness: 4 ± 1",
        "n_answers": 0, "passed": None, "suspect": False,
    }  # fmt: skip
    task.refresh_from_db()
    assert task.kind == Task.Kind.GOLD


def test_a_corrected_key_comes_with_how_raters_did(admin, study, task):
    set_gold(study, task, [ExpectedAnswer("correctness", "4")], actor=None)
    user = factories.member(study)
    judgments.submit(user, hold(task, user), rating(2))
    body = expect(admin, task, "5").json()
    assert (body["expected"], body["n_answers"], body["passed"]) == ("correctness: 5", 1, 0.0)
    assert CheckOutcome.objects.get().passed is False


def test_an_answer_that_the_protocol_does_not_have_is_refused_and_changes_nothing(admin, task):
    response = expect(admin, task, "6")
    assert response.status_code == 400
    assert "6 is not on the scale of correctness" in response.text
    task.refresh_from_db()
    assert task.kind == Task.Kind.REGULAR
    assert not GoldKey.objects.exists()


def test_a_share_of_120_per_cent_is_refused_and_changes_nothing(admin, study):
    response = admin.patch("/api/v1/studies/s/", {"injection": {"gold": 1.2, "repeat": 0.1}})
    assert response.status_code == 400
    assert [error["field"] for error in response.json()["errors"]] == ["gold"]
    study.refresh_from_db()
    assert "injection" not in study.rules
