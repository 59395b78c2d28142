from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from analytics.overview import scorers
from annotation.models import Study
from scoring.models import Score, Scorer, ScoringRun
from scoring.policies import prescoring
from tests.factories import StudyFactory, rating_task
from tests.scoring import doubles

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def word_count(monkeypatch):
    return doubles.register(monkeypatch)


def scorer(digest: str = "3f1c9a7de0") -> Scorer:
    return Scorer.objects.get_or_create(key="word-count", digest=digest, config={"code": "word-count"})[0]


def make(study: Study, **fields) -> ScoringRun:
    return ScoringRun.objects.create(**{"study": study, "metric": "word-count", **fields})


def page(client, **headers) -> str:
    answer = client.get(reverse("models", args=["s"]), headers=headers)
    assert answer.status_code == 200
    return answer.text


def test_an_unscored_study_says_what_a_scorer_is_and_that_raters_see_no_score(signed_in, study):
    shown = page(signed_in)
    assert "No model has scored this study yet" in shown
    assert "Raters see no score unless you have the study show it" in shown
    assert reverse("new_run", args=["s"]) in shown


def score(task, by: Scorer) -> None:
    Score.objects.create(scorer=by, candidate=task.item_version.candidates.get(), value=0.5)


def test_a_scorer_is_listed_with_its_version_and_how_much_it_has_scored(signed_in, study):
    one, two, _three = (rating_task(study, name) for name in ("one", "two", "three"))
    for task in (one, two):
        score(task, scorer())
    make(study, scorer=scorer(), state="done", n_rows=3, n_done=2, n_failed=1, options={"backbone": "hub/m"})
    shown = page(signed_in)
    for expected in ("Words", "word-count@3f1c9a7d", "hub/m", "2 of 3 candidates"):
        assert expected in shown


def test_where_there_is_too_much_to_count_the_runs_say_what_they_scored(signed_in, study, monkeypatch):
    monkeypatch.setattr(scorers, "MOST_INDEX_LOOKUPS", 0)
    rating_task(study, "one")
    make(study, scorer=scorer(), state="done", n_rows=1, n_done=1234)
    assert "1,234 rows scored by its runs" in page(signed_in)


def test_versions_of_one_model_are_told_apart_by_what_is_not_the_default(signed_in, study):
    options = {"backbone": "hub/m", "version": "1"}
    make(study, scorer=scorer("aaaa"), state="done", options=options)
    make(study, scorer=scorer("bbbb"), state="done", options={**options, "version": "2"})
    shown = page(signed_in)
    assert "version 2" in shown
    assert "version 1" not in shown


def test_each_version_has_a_row_of_its_own(signed_in, study):
    make(study, scorer=scorer("a" * 10), state="done", n_done=1)
    make(study, scorer=scorer("b" * 10), state="done", n_done=1)
    shown = page(signed_in)
    assert "word-count@aaaaaaaa" in shown
    assert "word-count@bbbbbbbb" in shown


def test_a_run_under_way_shows_its_pace_and_asks_again_every_two_seconds(signed_in, study):
    now = timezone.now()
    make(
        study, scorer=scorer(), state="running", n_rows=1800, n_done=590, n_failed=10,
        working_since=now - timedelta(seconds=60), worked_at=now,
    )  # fmt: skip
    shown = page(signed_in)
    assert 'hx-trigger="every 2s"' in shown
    assert "600 of 1,800 rows" in shown
    assert "10 rows a second" in shown
    assert "about 2 minutes left" in shown


def test_only_the_part_that_moves_is_sent_to_a_page_that_asks_again(signed_in, study):
    make(study, state="running")
    part = page(signed_in, HX_Request="true")
    assert part.lstrip().startswith('<div id="models"')
    assert "<html" not in part


@pytest.mark.parametrize("state", ["done", "failed", "cancelled"])
def test_a_page_on_which_nothing_moves_does_not_ask(signed_in, study, state):
    make(study, state=state)
    assert "hx-trigger" not in page(signed_in)


@pytest.mark.parametrize(("runs", "versions"), [(1, 1), (12, 6)])
def test_opening_the_page_costs_the_same_however_much_was_scored(
    signed_in, study, runs, versions, django_assert_num_queries
):
    rating_task(study, "one")
    for number in range(runs):
        make(study, scorer=scorer(f"digest-{number % versions}"), state="done", n_done=1)
        make(study, state="running")
    page(signed_in)
    with django_assert_num_queries(10):
        page(signed_in)


def test_other_studies_runs_are_not_listed(signed_in, study):
    make(StudyFactory(), scorer=scorer("elsewhere00"), state="done", n_done=1)
    assert "elsewher" not in page(signed_in)


@pytest.fixture
def prescored(study):
    for version in ("1", "2"):
        prescoring.add_prescore(study, "word-count", {"version": version}, actor=None)
    prescoring.add_prescore(study, "word-count", {"version": "2"}, actor=None)
    return study


def remove(client, number: int, metric: str = "word-count"):
    path = reverse("remove_prescore", args=["s", number])
    return client.post(path, {"metric": metric}, follow=True)


def test_what_scores_new_items_is_listed_once_and_can_be_taken_back(signed_in, prescored):
    assert page(signed_in).count("New items get these scores by themselves.") == 1
    remove(signed_in, 0)
    prescored.refresh_from_db()
    assert prescored.rules["prescore"] == [{"metric": "word-count", "options": {"version": "2"}}]


@pytest.mark.parametrize(("number", "metric"), [(2, "word-count"), (0, "other")])
def test_what_is_no_longer_in_the_list_is_not_taken_from_it(signed_in, prescored, number, metric):
    answer = remove(signed_in, number, metric)
    prescored.refresh_from_db()
    assert len(prescored.rules["prescore"]) == 2
    assert [message.level_tag for message in answer.context["messages"]] == ["error"]
