"""Scoring over HTTP: what those who run a study can ask for and see. Who may call what is in the permission matrix."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from scoring.models import Score, ScoringRun
from scoring.runs import worker
from tests import factories
from tests.scoring.studies import add, run_over, study_of, worked

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    study = study_of(["a bell", "undecodable", "rain falls down"])
    study.slug = "s"
    study.save()
    return study


@pytest.fixture
def me(api, study):
    return api(factories.member(study, "researcher", name="Rey"))


def test_it_lists_the_scorers_with_their_options(me):
    scorers = {each["name"]: each for each in me.get("scorers/").json()["results"]}
    assert scorers["word-count"] == {
        "name": "word-count",
        "title": "Words",
        "summary": "Counts words.",
        "reads": "single",
        "options": [
            {
                "name": "version", "kind": "text", "help": "Any text.", "default": "1", "required": False,
                "choices": [],
            }
        ],
    }  # fmt: skip


def test_a_run_is_started_and_followed(me, study):
    body = {"scorer": "word-count", "options": {"version": "2"}, "filter": {"systems": ["system-1"]}}
    started = me.post("studies/s/scoring-runs/", body)
    assert started.status_code == 202
    run = started.json()
    assert (run["state"], run["version"], run["n_rows"], run["created_by"]) == ("queued", None, 0, "Rey")
    assert (run["scorer"], run["filter"]) == ("word-count", {"systems": ["system-1"]})
    worker.work_on_run(run["id"])
    run = me.get(f"scoring-runs/{run['id']}/").json()
    assert (run["state"], run["n_rows"], run["n_done"], run["n_failed"]) == ("done", 3, 2, 1)
    assert run["version"]["config"] == {"scorer": "word-count", "code": "word-count", "version": "2"}
    assert run["per_second"] > 0
    assert run["seconds_left"] is None
    assert [each["id"] for each in me.get("studies/s/scoring-runs/").json()["results"]] == [run["id"]]


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        ({}, "scorer", "required"),
        ({"scorer": "aqa"}, "scorer", "there is no scorer 'aqa'"),
        ({"scorer": "word-count", "options": {"size": 1}}, "options.size", "word-count has no such option"),
        ({"scorer": "word-count", "options": {"version": 1}}, "options.version", "must be a text"),
        ({"scorer": "word-count", "filter": {"systems": ["me"]}}, "filter.systems", "no system 'me'"),
        ({"scorer": "word-count", "filter": {"sets": []}}, "filter.sets", "no such field"),
        ({"scorer": "word-count", "twice": True}, "twice", "no such field"),
    ],
)
def test_what_cannot_be_asked_for_is_named(me, body, field, said):
    refusal = me.post("studies/s/scoring-runs/", body)
    assert refusal.status_code == 400
    (error,) = refusal.json()["errors"]
    assert error["field"] == field
    assert said in error["message"]
    assert not ScoringRun.objects.exists()


def test_the_same_run_twice_is_a_conflict(me, study):
    first = run_over(study)
    refusal = me.post("studies/s/scoring-runs/", {"scorer": "word-count"})
    assert (refusal.status_code, refusal.json()["title"]) == (409, "already_under_way")
    assert f"Run {first.pk}" in refusal.json()["detail"]


def test_a_run_is_cancelled_once_and_taken_up_again(me, study):
    run = run_over(study)
    assert me.post(f"scoring-runs/{run.pk}/cancel/").json()["state"] == "cancelled"
    assert me.post(f"scoring-runs/{run.pk}/cancel/").status_code == 409
    assert me.post(f"scoring-runs/{run.pk}/retry/").json()["state"] == "queued"


def test_faults_come_counted_and_by_page(me, study):
    add(study, "another", "undecodable as well")
    run = worked(run_over(study))
    body = me.get(f"scoring-runs/{run.pk}/faults/?limit=1").json()
    assert [(each["code"], each["n"], each["item"]) for each in body["counts"]] == [
        ("undecodable", 2, "item-1")
    ]
    assert [(each["item"], each["system"], each["code"]) for each in body["results"]] == [
        ("item-1", "system-1", "undecodable")
    ]
    assert [each["item"] for each in me.get(body["next"]).json()["results"]] == ["another"]


def test_scores_come_by_page_and_by_scorer(me, study):
    run = worked(run_over(study))
    worked(run_over(study, options={"version": "2"}))
    body = me.get("studies/s/scores/").json()
    assert len(body["results"]) == 4
    first = body["results"][0]
    assert (first["item"], first["system"], first["output"], first["value"]) == (
        "item-0",
        "system-1",
        "words",
        2.0,
    )
    assert (first["scorer"], first["digest"]) == ("word-count", run.scorer.digest)
    chosen = me.get(f"studies/s/scores/?scorer={run.scorer.digest}&limit=1").json()
    assert [each["item"] for each in chosen["results"]] == ["item-0"]
    following = me.get(chosen["next"]).json()
    assert ([each["item"] for each in following["results"]], following["next"]) == (["item-2"], None)
    assert me.get("studies/s/scores/?scorer=other").json()["results"] == []
    assert me.get("studies/s/scores/?scorer=NOT+A+NAME").status_code == 400


@pytest.mark.parametrize("path", ["studies/s/scoring-runs/", "studies/s/scores/"])
def test_a_list_asks_as_often_for_many_rows_as_for_few(me, study, path):
    counts = []
    for _ in range(2):
        worked(run_over(study, again=True))
        add(study, f"more-{Score.objects.count()}", "a bell")
        me.get(path)
        with CaptureQueriesContext(connection) as captured:
            assert me.get(path).status_code == 200
        counts.append(len(captured))
    assert counts[0] == counts[1] <= 5
