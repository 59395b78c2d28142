"""Bulk changes: what is chosen and nothing else, by jobs where it is much, and seen in the tables at once."""

from __future__ import annotations

from urllib.parse import parse_qs

import pytest

from analytics.browse import changes, summaries
from analytics.browse.changes import Change, change_rows
from analytics.browse.facts import study_facts
from analytics.browse.query import Query, Selection
from analytics.models import ItemSummary
from annotation.errors import InvalidInput
from annotation.jobs import jobs
from annotation.models import AuditEvent, GoldKey, Item, Job, ReviewCase, Task
from annotation.models.people import Role
from tests.analytics.votes import votes
from tests.factories import StudyFactory, member, rating_task

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return StudyFactory(slug="s", overlap=3)


@pytest.fixture
def actor(study):
    return member(study, Role.RESEARCHER)


@pytest.fixture
def tasks(study):
    """bell: raters agree; dog: they do not."""
    made = {name: rating_task(study, name, overlap=3) for name in ("bell", "dog")}
    votes(made["bell"], [4, 4])
    votes(made["dog"], [1, 5])
    summaries.refresh(study.pk)
    return made


def count(study, table: str, asked: str) -> int:
    return Selection(study, Query.of(table, parse_qs(asked)), study_facts(study)).total().n


def change(study, actor, table: str, ids=None, asked: str = "", **values):
    query = Query.of(table, parse_qs(asked))
    return change_rows(study, query, Change.of(table, values), ids=ids, actor=actor)


def test_items_go_to_review_with_the_task_that_was_chosen(study, actor, tasks):
    done = change(study, actor, "tasks", [tasks["dog"].pk], action="review", comment="Is it a dog?")
    case = ReviewCase.objects.get()
    assert (done.changed, case.task, case.rules) == (1, tasks["dog"], ["requested"])
    assert case.reasons.get().evidence == {"comment": "Is it a dog?"}
    assert count(study, "items", "flagged=yes") == 1
    assert change(study, actor, "tasks", [tasks["dog"].pk], action="review").changed == 0


def test_answers_to_a_check_are_in_no_figure_of_its_item(study, tasks):
    check = rating_task(study, "gold", overlap=3)
    Task.objects.filter(pk=check.pk).update(kind=Task.Kind.GOLD, item_version=tasks["bell"].item_version)
    votes(check, [1, 5, 5])
    summaries.refresh(study.pk)
    item = ItemSummary.objects.get(pk=tasks["bell"].item_version.item_id)
    assert (item.n_tasks, item.n_judgments, item.n_wanted, item.mean, item.disagreement) == (2, 2, 3, 4, 0)


def test_a_withdrawn_item_leaves_with_its_tasks_and_comes_back(study, actor, tasks):
    item = tasks["dog"].item_version.item_id
    assert change(study, actor, "items", [item], action="withdraw", reason="broken file").changed == 1
    assert Item.objects.get(pk=item).state == Item.State.WITHDRAWN
    assert count(study, "tasks", "state=withdrawn") == 1
    assert count(study, "judgments", "status=excluded") == 2
    assert change(study, actor, "items", asked="state=withdrawn", action="bring_back").changed == 1
    assert count(study, "tasks", "state=withdrawn") == 0
    assert count(study, "judgments", "status=counted") == 4


def test_overlap_changes_and_never_below_what_a_task_has(study, actor, tasks):
    change(study, actor, "tasks", asked="judgments.min=1", action="overlap", overlap=1)
    assert list(Task.objects.order_by("pk").values_list("overlap", "n_judgments")) == [(2, 2), (2, 2)]
    change(study, actor, "tasks", [tasks["bell"].pk], action="overlap", overlap=5)
    assert count(study, "tasks", "progress=complete") == 1
    assert AuditEvent.objects.filter(action="tasks.overlap_changed").count() == 2


def test_a_gold_task_expects_what_most_raters_answered(study, actor, tasks):
    done = change(study, actor, "tasks", asked="judgments.min=1", action="kind", kind="gold")
    assert (done.changed, done.unchanged, dict(done.reasons)) == (1, 1, {"without_key": 1})
    assert GoldKey.objects.get().value == 4
    assert count(study, "tasks", "kind=gold") == 1
    change(study, actor, "tasks", [tasks["bell"].pk], action="kind", kind="regular")
    assert count(study, "tasks", "kind=gold") == 0


def test_much_is_changed_by_a_job(study, actor, tasks, monkeypatch):
    monkeypatch.setattr(changes, "MOST_AT_ONCE", 1)
    done = change(study, actor, "judgments", action="exclude", reason="pilot")
    assert isinstance(done, Job)
    jobs.run(done.pk)
    done.refresh_from_db()
    assert (done.state, done.report["changed"]) == (Job.State.DONE, 4)
    assert count(study, "judgments", "status=counted") == 0


def test_rows_of_another_study_are_left_alone(study, actor, tasks):
    other = rating_task(StudyFactory(), "whale")
    assert change(study, actor, "tasks", [other.pk], action="overlap", overlap=9).changed == 0
    other.refresh_from_db()
    assert other.overlap == 3


def test_a_change_says_what_it_needs(study, actor, tasks):
    for table, values, field in (
        ("items", {"action": "exclude"}, "action"),
        ("judgments", {"action": "exclude"}, "reason"),
        ("tasks", {"action": "overlap"}, "overlap"),
        ("tasks", {"action": "kind", "kind": "trap"}, "kind"),
    ):
        with pytest.raises(InvalidInput) as refused:
            change(study, actor, table, [1], **values)
        assert refused.value.problems[0].field == field


def test_a_misspelt_filter_changes_nothing_over_the_api(api, study, actor, tasks):
    client = api(actor)
    for filters in ({"txet": ["bell"]}, {"text": []}, {"text": ["!"]}):
        body = {"action": "withdraw", "reason": "broken", "filters": filters}
        assert client.post("studies/s/data/items/changes/", body).status_code == 400
    assert Item.objects.filter(state=Item.State.WITHDRAWN).count() == 0
