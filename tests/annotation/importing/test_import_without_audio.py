"""Releases without their sounds: votes can be imported without them, work for raters cannot."""

from __future__ import annotations

import json

import pytest

from annotation.importing import import_jobs
from annotation.importing import options as importing_options
from annotation.jobs import jobs
from annotation.models import Candidate, Study, Task
from tests.annotation.importing.formats import sounds

pytestmark = pytest.mark.django_db


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "clotho_eval.json"
    pair = ["a bell rings twice", "a bell rings", "human_1", "rl", [1, 1, 0]]
    path.write_text(json.dumps([{"raw_name": "bell.wav", "HM": pair}]))
    return path


def bring(source, *, format="fense", study=None, **options):
    new = (
        None
        if study
        else importing_options.NewStudy("captions", "Captions", format, options.get("overlap", 3))
    )
    job = import_jobs.start(study, source, format=format, actor=None, new_study=new, **options)
    jobs.run_inline(job)
    return job


def test_votes_are_imported_without_the_sounds_and_once_only(source):
    assert bring(source, archive=True).state == "done"
    study = Study.objects.get(slug="captions")
    assert study.state == Study.State.CLOSED
    again = bring(source, study=study, overlap=9)
    assert again.report["created"] == {"items": 0, "tasks": 0, "judgments": 0, "raters": 0}
    assert (Task.objects.count(), Task.objects.get().n_judgments) == (1, 3)
    assert set(Candidate.objects.values_list("text", flat=True)) == {"a bell rings twice", "a bell rings"}


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_task_that_waits_for_raters_needs_something_to_hear(source, dry_run):
    job = bring(source, overlap=4, dry_run=dry_run)
    [problem] = job.report["problems"]
    assert (job.state, problem["row"], problem["field"]) == ("failed", "clotho_eval.json #1 HM", "audio")
    assert not Study.objects.exists()


def test_with_its_sound_the_same_task_waits(source, tmp_path):
    sounds.tone(tmp_path / "bell.wav")
    assert bring(source, overlap=4).state == "done"
    task = Task.objects.get()
    assert (task.overlap, task.n_judgments, task.item_version.clip is not None) == (4, 3, True)


def test_clips_that_are_judged_are_asked_for_too(tmp_path):
    path = tmp_path / "ratings.jsonl"
    axes = ("Production_Quality", "Production_Complexity", "Content_Enjoyment", "Content_Usefulness")
    path.write_text(json.dumps({"data_path": "real/bell.wav", **{axis: [] for axis in axes}}))
    assert bring(path, format="aes", archive=True).report["problems"][0]["field"] == "audio"
