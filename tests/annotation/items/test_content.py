"""Items, judgments, their exclusion and the audit log over HTTP."""

from __future__ import annotations

import uuid

import pytest

from annotation.models import Exclusion, Judgment, Study
from annotation.rating import judgments, leases
from tests import factories
from tests.annotation.importing.answers import rating

pytestmark = pytest.mark.django_db


def test_items_come_in_pages_with_their_current_version_and_candidates(api, world):
    world.study.items.create(external_id="bare")
    first = api(world.researcher).get("studies/here/items/?limit=2").json()
    second = api(world.researcher).get(first["next"]).json()
    rows = [*first["results"], *second["results"]]
    assert (len(first["results"]), second["next"]) == (2, None)
    assert [row["external_id"] for row in rows] == [*(f"SECRET-here-{n}" for n in range(3)), "bare"]
    assert (rows[0]["version"], rows[0]["prompt"]) == (1, "SECRET prompt")
    assert [c["system"] for c in rows[0]["candidates"]] == ["system-1", "system-2"]
    assert rows[0]["candidates"][0]["duration_s"] == 3.0
    assert (rows[3]["version"], rows[3]["prompt"], rows[3]["candidates"]) == (None, "", [])


def test_a_judgment_tells_what_was_said_of_which_system_and_how_it_was_shown(api, world):
    (row,) = api(world.researcher).get("studies/here/judgments/").json()["results"]
    assert row["client_id"] == str(world.judgment.client_id)
    assert row["item"] == row["task"] == world.task.external_id
    assert row["rater"] == world.rater.pseudonym
    assert row["systems"] == ["system-1", "system-2"]
    assert row["presentation"] == world.judgment.presentation
    assert (row["origin"], row["revision"], row["effective"], row["excluded"]) == ("rated", 1, True, False)
    answers = {answer["question"]: answer for answer in row["answers"]}
    assert list(answers) == ["alignment", "musicality", "evidence"]
    # It was A, the first shown, that followed the instruction better.
    shown_first = ["first", "second"][world.judgment.presentation[0]]
    assert (answers["alignment"]["choice"], answers["alignment"]["confidence"]) == (shown_first, 4)
    assert answers["evidence"]["text"].startswith("A keeps the tempo")


def test_judgments_of_unnamed_raters_are_listed_without_one(api):
    study = factories.StudyFactory()
    task = factories.rating_task(study, "only")
    Judgment.objects.create(
        study=study, task=task, protocol_version=study.protocol_version, payload_sha256=b"", origin=2
    )
    user = factories.member(study, "researcher")
    (row,) = api(user).get(f"studies/{study.slug}/judgments/").json()["results"]
    assert (row["rater"], row["origin"], row["presentation"], row["answers"]) == (None, "imported", None, [])


# ── Exclusions ───────────────────────────────────────────────────────────────


@pytest.fixture
def rated() -> Study:
    study = factories.StudyFactory(overlap=2)
    factories.rating_task(study, "one")
    factories.rating_task(study, "two")
    for _ in range(2):
        user = factories.member(study)
        while (lease := leases.lease_next(user, study.slug)[1]) is not None:
            judgments.submit(user, lease.id, rating(3))
    return study


@pytest.fixture
def manager(api, rated):
    return api(factories.member(rated, "researcher"))


def exclude(manager, study, **body):
    return manager.post(f"studies/{study.slug}/exclusions/", {"action": "exclude", "reason": "noise", **body})


def test_judgments_are_excluded_by_name(manager, rated):
    chosen = Judgment.objects.first()
    response = exclude(manager, rated, client_ids=[str(chosen.client_id)], comment="Clicks")
    assert response.status_code == 200
    assert response.json() == {"changed": 1, "unchanged": 0, "overlap_grown": 0, "kept_out": 0}
    assert list(Judgment.objects.filter(excluded=True)) == [chosen]
    row = Exclusion.objects.get()
    assert (row.reason, row.comment, row.actor.email.split("@")[1]) == ("noise", "Clicks", "example.org")


def test_all_judgments_of_a_rater_are_excluded_and_restored_and_the_log_tells_why(manager, rated):
    rater = rated.raters.first()
    assert exclude(manager, rated, rater=rater.pseudonym).json()["changed"] == 2
    assert set(Judgment.objects.filter(excluded=True).values_list("rater", flat=True)) == {rater.pk}
    event = manager.get(f"studies/{rated.slug}/audit/").json()["results"][0]
    assert (event["action"], event["subject"]) == ("judgments.excluded", f"rater {rater.pseudonym}")
    assert (event["data"]["changed"], event["data"]["reason"]) == (2, "noise")
    assert exclude(manager, rated, rater=rater.pseudonym, action="restore").json()["changed"] == 2
    assert not Judgment.objects.filter(excluded=True).exists()


NAME = str(uuid.UUID(int=1))


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, ""),
        ({"client_ids": [NAME], "rater": "R-1"}, ""),
        ({"client_ids": []}, "client_ids"),
        ({"client_ids": ["x"]}, "client_ids[0]"),
        ({"client_ids": [NAME]}, "client_ids[0]"),
        ({"client_ids": [NAME] * 1001}, "client_ids"),
        ({"rater": "R-nobody"}, "rater"),
        ({"rater": "R-1", "reason": ""}, "reason"),
        ({"rater": "R-1", "action": "delete"}, "action"),
        ({"rater": "R-1", "all": True}, "all"),
    ],
)
def test_an_exclusion_that_makes_no_sense_is_refused_with_the_field(manager, rated, body, field):
    response = exclude(manager, rated, **body)
    assert response.status_code == 400
    assert [error["field"] for error in response.json()["errors"]] == [field]
    assert not Exclusion.objects.exists()


def test_one_unknown_name_leaves_all_as_they_were(manager, rated):
    known = str(Judgment.objects.first().client_id)
    assert exclude(manager, rated, client_ids=[known, NAME]).status_code == 400
    assert not Judgment.objects.filter(excluded=True).exists()


def test_judgments_of_another_study_are_not_there(manager, rated, world):
    assert exclude(manager, rated, client_ids=[str(world.judgment.client_id)]).status_code == 400
    assert exclude(manager, rated, rater=world.rater.pseudonym).status_code == 400
    world.judgment.refresh_from_db()
    assert not world.judgment.excluded


# ── The audit log ────────────────────────────────────────────────────────────


def test_the_log_shows_the_newest_first_in_pages(api, world):
    me = api(world.admin)
    for n in range(3):
        me.patch("studies/here/", {"lease_minutes": 20 + n})
    first = me.get("studies/here/audit/?limit=2").json()
    assert [event["data"]["lease_minutes"][1] for event in first["results"]] == [22, 21]
    second = me.get(first["next"]).json()["results"]
    assert second[0]["data"]["lease_minutes"][1] == 20
    assert first["results"][0]["actor"] == "SECRET admin"


def test_the_log_of_another_study_is_not_in_it(api, world, elsewhere):
    api(elsewhere.admin).patch("studies/elsewhere/", {"lease_minutes": 20})
    events = api(world.admin).get("studies/here/audit/?limit=200").json()["results"]
    assert not [event for event in events if "lease_minutes" in event["data"]]
