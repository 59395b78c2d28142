"""Importing the original source again once an item was corrected: nothing is reverted, nothing counts twice."""

from __future__ import annotations

import pytest

from annotation.items import withdrawals
from annotation.models import Exclusion, Item, Judgment, ReviewCase, Study, Task
from annotation.rating import exclusions
from annotation.review import adjudication
from tests import factories
from tests.annotation.importing.desk import corrections, judged, true_counters, withdraw
from tests.annotation.importing.importing import bring, counted, write

pytestmark = pytest.mark.django_db
SAID = {"question": "correctness", "value": 4}


@pytest.fixture
def study() -> Study:
    return factories.StudyFactory(overlap=2)


@pytest.fixture
def expert(study):
    return factories.member(study, "expert")


@pytest.fixture
def corrected(study, expert, tmp_path) -> ReviewCase:
    """An imported item with one vote, corrected."""
    bring(study, write(tmp_path / "x.csv", {"rater_id": "ann", **SAID}))
    one = judged(expert, Task.objects.get())
    adjudication.correct_item(expert, one.pk, corrections(one))
    return one


def test_the_same_source_again_changes_nothing(study, corrected, tmp_path):
    before = counted()
    job = bring(study, write(tmp_path / "x.csv", {"rater_id": "ann", **SAID}))
    assert job.report["created"] == {"items": 0, "tasks": 0, "judgments": 0, "raters": 0}
    assert counted() == before
    assert Item.objects.get().current_version.question == "What rings?"
    true_counters(study)


def test_more_votes_on_the_original_are_kept_and_do_not_count_until_it_is_the_original_again(
    study, expert, corrected, tmp_path
):
    rows = [{"rater_id": name, **SAID} for name in ("ann", "bob")]
    assert bring(study, write(tmp_path / "x.csv", *rows)).report["created"]["judgments"] == 1
    reasons = set(Exclusion.objects.values_list("reason", flat=True))
    assert reasons == {"item_corrected"}
    assert not Judgment.objects.filter(excluded=False).exclude(origin=4).exists()
    true_counters(study)
    adjudication.undo_decision(expert, corrected.pk)
    assert Judgment.objects.filter(excluded=False).exclude(origin=4).count() == 2
    true_counters(study)


def test_new_tasks_are_about_the_version_at_hand_and_reuse_its_answers(study, expert, corrected, tmp_path):
    rows = [{"rater_id": "ann", **SAID}, {"system": "s2", "answer": "No", "rater_id": "ann", **SAID}]
    bring(study, write(tmp_path / "x.csv", *rows))
    added = Task.objects.get(slots__candidate__system__name="s2")
    assert added.item_version == Item.objects.get().current_version
    assert added.barred.get(rater__user=expert).reason == "reviews"  # they decided the case
    assert (added.n_judgments, added.judgments.get().excluded) == (0, True)
    restored = exclusions.exclude_or_restore(
        added.judgments, study=study, action="restore", reason="", actor=None
    )
    assert restored.kept_out == 1
    true_counters(study)
    bring(study, write(tmp_path / "y.csv", {"item_id": "i2"}, {"item_id": "i2", "answer": "Maybe"}))
    assert Task.objects.filter(item_version__item__external_id="i2").count() == 2
    true_counters(study)


def test_new_tasks_of_a_withdrawn_item_go_with_it_and_come_back_with_it(study, tmp_path):
    bring(study, write(tmp_path / "x.csv", {"rater_id": "ann", **SAID}))
    item = Item.objects.get()
    withdraw(item)
    rows = [{}, {"system": "s2", "answer": "No", "rater_id": "ann", **SAID}]
    bring(study, write(tmp_path / "x.csv", *rows))
    assert not Task.objects.filter(wants_more=True).exists()
    assert set(Exclusion.objects.values_list("reason", flat=True)) == {"item_withdrawn"}
    true_counters(study)
    withdrawals.restore_item(item, actor=None)
    assert Task.objects.filter(wants_more=True).count() == 2
    true_counters(study)


def test_tasks_added_to_a_correction_that_is_undone_move_to_the_version_before(
    study, expert, corrected, tmp_path
):
    bring(study, write(tmp_path / "x.csv", {}, {"system": "s2", "answer": "No"}))
    adjudication.undo_decision(expert, corrected.pk)
    added = Task.objects.get(slots__candidate__system__name="s2")
    assert (added.item_version.number, added.state) == (1, Task.State.READY)
    assert added.slots.get().candidate.item_version == added.item_version
    assert bring(study, write(tmp_path / "x.csv", {}, {"system": "s2", "answer": "No"})).state == "done"
    true_counters(study)


def test_a_longer_list_stands_behind_all_there_is(tmp_path):
    study = factories.StudyFactory(order="listed")
    bring(study, write(tmp_path / "x.csv", {}, {"item_id": "i2"}, {"item_id": "i3"}))
    withdraw(Item.objects.get(external_id="i1"))
    bring(study, write(tmp_path / "y.csv", {"item_id": "i4"}))
    places = Task.objects.order_by("pk").values_list("shuffle_key", flat=True)
    assert list(places) == [0.0, 1.0, 2.0, 3.0]
