"""The expert's side of the API: what it takes, and how it refuses."""

from __future__ import annotations

import uuid

import pytest

from annotation.models import Judgment, ReviewCase
from annotation.review import blind_judgments, cases
from tests import factories
from tests.annotation.importing import reviewing

pytestmark = pytest.mark.django_db


@pytest.fixture
def case() -> ReviewCase:
    study = factories.StudyFactory(slug="here")
    task = factories.rating_task(study, "bell")
    reviewing.open_case(task.item_version, rule="audit", evidence={}, task=task)
    return ReviewCase.objects.get()


@pytest.fixture
def me(api, case):
    """The expert, who has claimed the case."""
    expert = factories.member(case.study, "expert")
    cases.claim(expert, case.pk)
    return api(expert)


def vote() -> dict:
    return {"client_id": str(uuid.uuid4()), "answers": [{"question": "correctness", "value": 4}]}


def judged(me, case: ReviewCase) -> None:
    blind_judgments.begin_blind(case.study.raters.get().user, case.pk)
    assert me.post(f"review-cases/{case.pk}/blind/", vote()).status_code == 201


def correction(case: ReviewCase, **changed) -> dict:
    return {
        "version_id": case.item_version_id,
        "texts": {"question": "What rings?"},
        "reason": "wording",
        **changed,
    }


def test_a_blind_judgment_sent_twice_is_one(me, case):
    judged(me, case)
    again = Judgment.objects.get()
    body = {"client_id": str(again.client_id), "answers": [{"question": "correctness", "value": 4}]}
    assert me.post(f"review-cases/{case.pk}/blind/", body).status_code == 200
    assert Judgment.objects.count() == 1


def test_a_case_is_corrected_and_the_correction_taken_back(me, case):
    judged(me, case)
    done = me.post(f"review-cases/{case.pk}/correction/", correction(case))
    assert done.json() == {"id": case.pk, "state": "resolved", "decision": "corrected"}
    assert me.post(f"review-cases/{case.pk}/undo/").json()["state"] == "claimed"


@pytest.mark.parametrize(
    ("path", "changed", "field"),
    [
        ("correction", {"reason": "because"}, "reason"),
        ("correction", {"texts": {"question": 4.5, "title": ["x"]}}, "texts.title"),
        ("correction", {"version": 1}, "version"),
        ("withdrawal", {}, "comment"),
        ("returns", {"to": "raters", "comment": "x"}, "judgments"),
        ("returns", {"to": "somebody", "comment": "x"}, "to"),
    ],
)
def test_what_is_wrong_is_named_and_changes_nothing(me, case, path, changed, field):
    judged(me, case)
    body = {**correction(case), **changed} if path == "correction" else changed
    refused = me.post(f"review-cases/{case.pk}/{path}/", body)
    assert refused.status_code == 400
    assert field in [error["field"] for error in refused.json()["errors"]]
    case.refresh_from_db()
    assert case.state == ReviewCase.State.CLAIMED


@pytest.mark.parametrize(
    ("path", "body"),
    [("fine", {}), ("withdrawal", {"comment": "x"}), ("returns", {"to": "pool", "comment": "x"})],
)
def test_nothing_is_decided_before_the_expert_has_judged(me, case, path, body):
    refused = me.post(f"review-cases/{case.pk}/{path}/", body)
    assert (refused.status_code, refused.json()["title"]) == (409, "not_judged")


def test_a_correction_that_changes_nothing_is_refused(me, case):
    judged(me, case)
    same = correction(case, texts={"question": case.item_version.question})
    refused = me.post(f"review-cases/{case.pk}/correction/", same)
    assert (refused.status_code, refused.json()["title"]) == (409, "nothing_changed")
