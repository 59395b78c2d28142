"""Label Studio's layout: valid by its own library, and the same votes when it is imported again."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest

from analytics.datasets import exports
from analytics.datasets.formats import label_studio
from annotation.errors import InvalidInput
from annotation.importing import import_jobs, options
from annotation.jobs import jobs
from annotation.models import Clip, Judgment, Study
from annotation.protocols import preset
from annotation.rating import judgments, leases
from annotation.rating.judgments import Submission
from tests import factories, presets
from tests.analytics.datasets.exported import exported
from tests.analytics.votes import exclude
from tests.annotation.importing.formats import sounds

pytestmark = pytest.mark.django_db


def rated(name: str, folder: Path) -> Study:
    """Tasks of the preset's example, judged by two people whose sides are drawn."""
    folder.mkdir()
    study = presets.running_study(name, folder, overlap=2)
    for number in (1, 2):
        user = factories.member(study, email=f"secret{number}@example.org", name="Jane Doe")
        while lease := leases.lease_next(user, study.slug)[1]:
            said = presets.answers(study, lease, seed=number)
            judgments.submit(user, lease.id, Submission(client_id=uuid.uuid4(), answers=said))
    return study


def written(study: Study, folder: Path) -> list[dict]:
    exports.write_export(study, format="label-studio", out=folder)
    return json.loads((folder / "tasks.json").read_text(encoding="utf-8"))


def votes(study: Study) -> list[tuple]:
    """What was said of which systems by whom, and in which order it was heard, whatever the study's names for them."""
    return sorted(
        (
            record["item"],
            str(sorted(record["systems"])),
            str([record["systems"][slot] for slot in record["presentation"] or []]),
            str([(one["question"], one["system"], one["choice"], one["value"], one["confidence"], one["text"])
                 for one in record["answers"]]),
            str(record["codes"]),
            record["comment"],
        )
        for record in exported(study, "judgments")
    )  # fmt: skip


def read_back(folder: Path, name: str) -> Study:
    """What was written, imported as a study of its own; the sounds where a release would have put them."""
    (folder / "audio").mkdir()
    for clip in Clip.objects.all():
        sounds.tone(folder / "audio" / f"{clip.canonical_sha256}.flac", hertz=200 + clip.pk % 1000)
    new = options.NewStudy("again", "Again", name)
    job = import_jobs.start(None, folder / "tasks.json", format="label-studio", actor=None, new_study=new)
    jobs.run_inline(job)
    assert job.state == "done", job.report
    return Study.objects.get(slug="again")


@pytest.mark.parametrize("name", ["cmi-pref", "orca", "aqeval"])
def test_what_is_written_is_valid_and_says_the_same_when_it_is_imported(tmp_path, name):
    from label_studio_sdk.label_interface import LabelInterface

    study = rated(name, tmp_path / "in")
    tasks = written(study, tmp_path / "out")
    interface = LabelInterface((tmp_path / "out" / "labeling_config.xml").read_text(encoding="utf-8"))
    interface.validate()
    assert interface.to_json_schema()["properties"].keys() == {control.name for control in interface.controls}
    annotations = [annotation for task in tasks for annotation in task["annotations"]]
    assert len(annotations) == Judgment.objects.filter(study=study).count() > 2
    for task in tasks:
        assert interface.validate_task({"data": task["data"]})
        for annotation in task["annotations"]:
            assert interface.validate_annotation(annotation), annotation
    if name == "cmi-pref":
        assert [1, 0] in [annotation["presentation"] for annotation in annotations]
    assert votes(read_back(tmp_path / "out", name)) == votes(study)


def test_raters_see_no_system_and_nobody_sees_an_address(tmp_path):
    study = rated("cmi-pref", tmp_path / "in")
    tasks = written(study, tmp_path / "out")
    assert {key for task in tasks for key in task["data"]} == {
        "item_id", "prompt", "lyrics", "reference_audio", "audio_a", "audio_b",
    }  # fmt: skip
    assert tasks[0]["meta"]["system_a"] == "model-x"
    text = (tmp_path / "out" / "tasks.json").read_text(encoding="utf-8")
    assert "example.org" not in text
    assert "Jane" not in text


def test_what_does_not_count_is_left_out(tmp_path):
    study = rated("cmi-pref", tmp_path / "in")
    exclude(Judgment.objects.filter(study=study).earliest("pk"))
    tasks = written(study, tmp_path / "out")
    names = {annotation["unique_id"] for task in tasks for annotation in task["annotations"]}
    assert names == {str(one.client_id) for one in Judgment.objects.filter(study=study, excluded=False)}
    made = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert made["counts"]["judgments"] == len(names)


def test_a_study_without_tasks_is_an_empty_list(tmp_path):
    assert written(factories.StudyFactory(preset="cmi-pref"), tmp_path / "out") == []


def test_trials_that_hide_a_clip_are_refused(tmp_path):
    assert label_studio.label_studio_refusal(preset("cmi-pref")) == ""
    with pytest.raises(InvalidInput, match="hide one clip"):
        written(factories.StudyFactory(preset="mushra"), tmp_path / "out")
