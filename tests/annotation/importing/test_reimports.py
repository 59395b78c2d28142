"""Importing more into a study that has been imported into: it adds, and never overwrites."""

from __future__ import annotations

import json

import pytest

from annotation.errors import Conflict
from annotation.importing import import_jobs, writing
from annotation.jobs import jobs
from annotation.models import Answer, Exclusion, ItemVersion, Judgment, Rater, Study, Task
from annotation.raters import withdrawal
from annotation.rating import judgments, leases
from tests import factories
from tests.annotation.importing.answers import rating
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
