"""The pages of hidden checks and of the answer that a task expects."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.models import CheckOutcome, GoldKey, Study, Task
from annotation.rating import judgments, leases
from tests import factories
from tests.annotation.importing.answers import rating

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    study = factories.StudyFactory(slug="s", rules={**factories.NOTHING_TO_HEAR, "injection": {"gold": 0.4}})
    for n in range(8):
        factories.rating_task(study, f"task-{n}")
    return study


@pytest.fixture
def page(client, study):
    client.force_login(factories.member(study, "researcher"))

    def fetch(name: str, *args: object, **data: object):
        address = reverse(name, args=["s", *args])
        return client.post(address, data) if data else client.get(address)

    return fetch


def test_a_known_answer_is_set_by_hand_and_its_raters_success_is_shown(study, page):
    task = study.tasks.first()
    answer = {
        "correctness-answer": "4",
        "correctness-tolerance": "1",
        "correctness-explanation_en": "A bell.",
    }
    assert page("task_key", task.pk, kind="gold", **answer).status_code == 302
    key = GoldKey.objects.get()
    assert (key.task, key.value, key.tolerance) == (task, 4, 1)
    for value in (5, 1):
        user = factories.member(study)
        while not CheckOutcome.objects.filter(rater__user=user).exists():
            judgments.submit(user, leases.lease_next(user, "s")[1].id, rating(value))
    text = page("hidden_checks").content.decode()
    assert "correctness: 4 ± 1" in text
    assert "50.0\N{NO-BREAK SPACE}%" in text
    assert 'value="4" selected' in page("task_key", task.pk).content.decode()


def test_an_empty_pool_and_a_share_that_cannot_be_are_told(study, page):
    assert "Empty: raters get regular tasks instead." in page("hidden_checks").content.decode()
    values = {"gold": 120, "trap": 0, "repeat": 0, "least_between": 2, "most_between": 0, "repeat_after": 20}
    response = page("injection_settings", **values)
    assert response.status_code == 200
    assert "less than or equal to 50" in response.content.decode()
    study.refresh_from_db()
    assert study.rules["injection"] == {"gold": 0.4}


def test_pairs_are_made_on_the_page(client):
    study = factories.StudyFactory(preset="cmi-pref", slug="s")
    factories.comparison_task(study, "pair")
    client.force_login(factories.member(study, "researcher"))
    address = reverse("hidden_checks", args=["s"])
    assert client.post(address, {"make": "pairs", "n": 5}).status_code == 302
    assert Task.objects.filter(kind=Task.Kind.IDENTICAL).count() == 1
    assert b"No task of it has clips" in client.get(address).content


def test_the_overview_tells_of_a_pool_that_is_empty(page):
    assert "Gold tasks: there are none" in page("study").content.decode()
