"""Importing more into a study that has been imported into: it adds, never overwrites, and reverts no correction."""

from __future__ import annotations

import json

import pytest

from annotation.errors import Conflict
from annotation.importing import import_jobs, writing
from annotation.items import withdrawals
from annotation.jobs import jobs
from annotation.models import Answer, Exclusion, Item, ItemVersion, Judgment, Rater, ReviewCase, Study, Task
from annotation.raters import withdrawal
from annotation.rating import exclusions, judgments, leases
from annotation.review import adjudication
from tests import factories
from tests.annotation.importing.answers import rating
from tests.annotation.importing.desk import corrections, judged, true_counters, withdraw
from tests.annotation.importing.formats import sounds
from tests.annotation.importing.importing import bring, check_counters, counted, problems, write

pytestmark = pytest.mark.django_db

SAID = {"question": "correctness", "value": 4}


@pytest.fixture
def study() -> Study:
    return factories.StudyFactory(overlap=3)


def test_importing_again_adds_nothing(study, tmp_path):
    rows = [{"rater_id": name, "question": "correctness", "value": 4} for name in ("ann", "", "")]
    source = write(tmp_path / "x.csv", *rows)
    bring(study, source)
    before = counted()
    assert bring(study, source).report["created"] == {"items": 0, "tasks": 0, "judgments": 0, "raters": 0}
    assert counted() == before
    check_counters(study)


def test_a_longer_file_adds_what_is_new(study, tmp_path):
    bring(study, write(tmp_path / "x.csv", {"rater_id": "ann", **SAID}))
    more = [{"rater_id": name, **SAID} for name in ("ann", "bob")]
    more.append({"item_id": "i2", "rater_id": "ann", **SAID})
    job = bring(study, write(tmp_path / "x.csv", *more))
    assert job.report["created"] == {"items": 1, "tasks": 1, "judgments": 2, "raters": 1}
    check_counters(study)


def test_what_it_brings_of_a_rater_who_withdraws_meanwhile_does_not_count(study, tmp_path, monkeypatch):
    bring(study, write(tmp_path / "x.csv", {"rater_id": "ann", **SAID}))
    read = writing._raters

    def withdrawn_after(*asked):
        found = read(*asked)
        withdrawal.withdraw(Rater.objects.get(external_id="ann"), mode="removed", actor=None)
        return found

    monkeypatch.setattr(writing, "_raters", withdrawn_after)
    more = [{"item_id": "i2", "rater_id": name, **SAID} for name in ("ann", "bob")]
    assert bring(study, write(tmp_path / "y.csv", *more)).state == "done"
    [late] = Judgment.objects.filter(rater__external_id="ann", task__item_version__item__external_id="i2")
    assert (late.excluded, late.answers.filter(counted=True).exists()) == (True, False)
    assert Exclusion.objects.get().reason == "rater_withdrawn"
    assert not Judgment.objects.get(rater__external_id="bob").excluded
    check_counters(study)


@pytest.mark.parametrize("change", [{"question_text": "Another?"}, {"reference": "Other"}])
def test_an_item_is_never_overwritten(study, tmp_path, change):
    bring(study, write(tmp_path / "x.csv", {}))
    job = bring(study, write(tmp_path / "x.csv", change))
    assert (job.state, job.report["problems"][0]["field"]) == ("failed", "item")
    assert ItemVersion.objects.get().question == "Q?"


def with_splits(path, *splits: str):
    """An item of each split; an empty one is left out."""
    rows = []
    for n, split in enumerate(splits):
        rows.append({"item_id": f"i{n}", "system": "s", "answer": "Yes"})
        rows[-1] |= {"stratum.split": split} if split else {}
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("before", "now", "note"),
    [
        (
            ("train", "train", "train"),
            ("train", "test", "test"),
            "2 items have other strata here than in the study, where they stay as they are: of 'i1' (row 2) split is"
            " 'test' here and is 'train' there.",
        ),
        pytest.param(
            ("", "train"),
            ("test", ""),
            "1 item has other strata here than in the study, where they stay as they are: of 'i0' (row 1) split is"
            " 'test' here and is not there.",
            id="one that the item did not have is told and one left out is not",
        ),
    ],
)
def test_strata_that_changed_stay_as_they_are_and_are_told(study, tmp_path, before, now, note):
    source = tmp_path / "x.jsonl"
    bring(study, with_splits(source, *before), format="jsonl")
    strata = [item.strata for item in study.items.order_by("pk")]
    assert bring(study, with_splits(source, *now), format="jsonl").report["notes"] == [note]
    assert [item.strata for item in study.items.order_by("pk")] == strata


def test_rows_of_one_item_in_several_strata_are_not_told_again(study, tmp_path):
    source = tmp_path / "x.jsonl"
    row = {"item_id": "i", "system": "s", "answer": "Yes", **SAID}
    rows = [{**row, "rater_id": split, "stratum.split": split} for split in ("train", "test")]
    source.write_text("".join(json.dumps(each) + "\n" for each in rows))
    bring(study, source, format="jsonl")
    assert bring(study, source, format="jsonl").report["notes"] == []


def test_an_item_has_one_content_within_a_source(study, tmp_path):
    job = bring(study, write(tmp_path / "x.csv", {}, {"system": "s2", "question_text": "Another?"}))
    assert problems(job) == [("3", "item")]


def test_two_answers_of_one_system_are_two_tasks(study, tmp_path):
    rows = [
        {**SAID, "rater_id": "ann", "answer": text, "value": value} for text, value in (("Yes", 5), ("No", 1))
    ]
    bring(study, write(tmp_path / "x.csv", *rows))
    tasks = {task.slots.get().candidate.text: task.judgments.get() for task in Task.objects.all()}
    assert {text: vote.answers.get().value for text, vote in tasks.items()} == {"Yes": 5.0, "No": 1.0}


def test_a_clip_is_never_exchanged(tmp_path):
    study = factories.StudyFactory(preset="cmi-pref")
    sides = {"system_a": "s", "system_b": "t", "audio_a": "a.wav", "audio_b": "b.wav"}
    source = tmp_path / "x.jsonl"
    source.write_text(json.dumps({"item_id": "i", "prompt": "P", **sides}))
    sounds.tone(tmp_path / "a.wav")
    sounds.tone(tmp_path / "b.wav", hertz=600)
    assert bring(study, source, format="jsonl").state == "done"
    sounds.tone(tmp_path / "b.wav", hertz=700)
    job = bring(study, source, format="jsonl")
    assert (job.state, job.report["problems"][0]["field"]) == ("failed", "id")


@pytest.mark.parametrize("change", [{"value": 2}, {"codes": "A"}])
def test_what_somebody_said_is_never_overwritten(study, tmp_path, change):
    said = {"rater_id": "ann", "question": "correctness", "value": 5}
    bring(study, write(tmp_path / "x.csv", said))
    job = bring(study, write(tmp_path / "x.csv", {**said, **change}))
    assert (job.state, job.report["problems"][0]["field"]) == ("failed", "answer")
    assert Answer.objects.get().value == 5.0


def test_a_running_study_goes_on_while_it_is_extended(study, tmp_path):
    factories.rating_task(study, "earlier")
    user = factories.member(study)
    _, lease = leases.lease_next(user, study.slug)
    bring(study, write(tmp_path / "x.csv", {}))
    judgments.submit(user, lease.id, rating(4))
    assert leases.lease_next(user, study.slug)[1] is not None
    check_counters(study)


def test_a_second_import_waits_until_the_first_has_ended(study, tmp_path):
    source, user = write(tmp_path / "x.csv", {}), factories.UserFactory()
    first = import_jobs.start(study, source, format="csv", actor=None)
    with pytest.raises(Conflict, match="has not finished; wait for it, or cancel it") as refused:
        import_jobs.start(study, source, format="csv", actor=None)
    assert refused.value.code == "import_under_way"
    jobs.cancel(first, actor=user)
    assert bring(study, source).state == "done"


def test_trials_and_imports_into_other_studies_run_beside_an_import(study, tmp_path):
    source = write(tmp_path / "x.csv", {})
    import_jobs.start(study, source, format="csv", actor=None, dry_run=True)
    import_jobs.start(study, source, format="csv", actor=None)
    assert bring(study, source, dry_run=True).state == "done"
    assert bring(factories.StudyFactory(), source).state == "done"


# ── Once an item was corrected: nothing is reverted, nothing counts twice ────────────────────────────────────


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
