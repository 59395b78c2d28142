"""Learned models over HTTP. Who may call what is in the permission matrix."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from scoring.models import LearnedModel
from tests import factories
from tests.scoring.learned import learned

pytestmark = pytest.mark.django_db
MODELS = "studies/s/learned-models/"


@pytest.fixture
def study():
    return factories.StudyFactory(slug="s")


@pytest.fixture
def me(api, study):
    return api(factories.member(study, "researcher", name="Rey"))


def test_it_lists_the_models_that_can_be_trained_with_their_options(me):
    found = {each["name"]: each for each in me.get("trainable-models/").json()["results"]}
    assert found["orca"]["learns"] == "ratings"
    assert {"encoder", "head"} <= {option["name"] for option in found["orca"]["options"]}


def test_a_training_is_started_followed_and_cancelled(me):
    started = me.post(MODELS, {"model": "orca", "options": {"head": "multinomial"}, "repeats": 2})
    assert started.status_code == 202
    model = started.json()
    assert (model["state"], model["number"], model["progress"], model["version"]) == ("queued", 1, 0.0, None)
    assert model["plan"] == {
        "repeats": 2, "holdout_raters": 0.2, "split": "groups", "question": "correctness",
    }  # fmt: skip
    assert (model["options"]["head"], model["created_by"]) == ("multinomial", "Rey")
    assert me.get(f"learned-models/{model['id']}/").json() == model
    assert me.post(f"learned-models/{model['id']}/cancel/").json()["state"] == "cancelled"
    assert me.post(f"learned-models/{model['id']}/cancel/").status_code == 409


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        ({}, "model", "required"),
        ({"model": "gpt"}, "kind", "there is no model 'gpt'"),
        ({"model": "orca", "options": {"size": 1}}, "options.size", "orca has no such option"),
        ({"model": "orca", "repeats": 0}, "repeats", "greater than or equal to 1"),
        ({"model": "orca", "split": "items"}, "split", "not a valid choice"),
        ({"model": "orca", "question": "taste"}, "question", "cannot learn from a question 'taste'"),
        ({"model": "cmi-rm", "twice": True}, "twice", "no such field"),
    ],
)
def test_what_cannot_be_asked_for_is_named(me, body, field, said):
    refusal = me.post(MODELS, body)
    assert refusal.status_code == 400
    (error,) = refusal.json()["errors"]
    assert error["field"] == field
    assert said in error["message"]
    assert not LearnedModel.objects.exists()


def test_a_version_is_promoted_and_taken_back(me, study):
    model = learned(study)
    promoted = me.post(f"learned-models/{model.pk}/promote/").json()
    assert promoted["promoted_at"]
    assert (promoted["figures"]["SRCC"]["mean"], promoted["record"]["seed"]) == (0.71, 7)
    assert me.post(f"learned-models/{model.pk}/demote/").json()["promoted_at"] is None
    refusal = me.post(f"learned-models/{learned(study, state='running').pk}/promote/")
    assert (refusal.status_code, refusal.json()["title"]) == (409, "not_trained")


def test_the_list_comes_newest_first_by_page_and_asks_as_often_for_many_as_for_few(me, study):
    counts = []
    for _ in range(2):
        learned(study)
        with CaptureQueriesContext(connection) as captured:
            body = me.get(MODELS).json()
        counts.append(len(captured))
    assert counts[0] == counts[1] <= 5
    assert [each["number"] for each in body["results"]] == [2, 1]
    assert "record" not in body["results"][0]
    first = me.get(f"{MODELS}?limit=1").json()
    assert [each["number"] for each in me.get(first["next"]).json()["results"]] == [1]
