"""Trials of MUSHRA and ABX: what an import adds to them, and what it refuses because it would give something away."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from django.conf import settings

from annotation.importing import clips, import_jobs
from annotation.importing.options import NewStudy
from annotation.jobs import jobs
from annotation.models import Clip, Job, Study, System, Task
from tests.annotation.audio.recordings import read_flac, write_wav
from tests.annotation.importing import importing
from tests.annotation.importing.formats import sounds
from tests.annotation.importing.importing import files, problems

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number, name in enumerate(("ref", "x", "y", "z", "other")):
        sounds.tone(tmp_path / f"{name}.wav", hertz=300 + 50 * number)
    sounds.tone(tmp_path / "long.wav", seconds=0.7)
    sounds.tone(tmp_path / "longer.wav", seconds=0.5 + 1.5 / sounds.RATE)
    write_wav(tmp_path / "stereo.wav", np.full((2, sounds.RATE // 2), 0.1), rate=sounds.RATE)
    sounds.tone(tmp_path / "loud.wav", hertz=310, level=0.9)
    return tmp_path


def bring(
    folder: Path, *rows: dict[str, str], preset: str = "mushra", study: Study | None = None, **options
) -> Job:
    source = folder / "trials.csv"
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with source.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="")
        writer.writeheader()
        writer.writerows(rows)
    new = None if study else NewStudy("trials", "Trials", preset)
    return importing.bring(study, source, new_study=new, **options)


def trial(item: str = "i1", *names: str, reference: str = "ref.wav") -> dict[str, str]:
    """A MUSHRA trial of these sounds, each by a system of its own."""
    pairs = {}
    for letter, name in zip("abcdefghijkl", names or ("x", "y"), strict=False):
        pairs |= {f"system_{letter}": f"codec-{name}", f"audio_{letter}": f"{name}.wav"}
    return {"item_id": item, "reference_audio": reference, **pairs}


def added(task: Task) -> dict[str, Clip]:
    slots = task.slots.exclude(candidate__system__role=System.Role.JUDGED)
    return {slot.candidate.system.role: slot.candidate.clip for slot in slots}


def test_a_trial_gets_its_hidden_reference_and_two_anchors(folder):
    assert bring(folder, trial()).state == "done"
    task = Task.objects.get()
    roles = [slot.candidate.system.role for slot in task.slots.all()]
    assert roles == ["judged", "judged", "hidden_reference", "anchor_3500", "anchor_7000"]
    assert added(task)["hidden_reference"] == task.item_version.reference_clip


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("rate", [44_100, 48_000])
def test_length_and_channels_do_not_tell_an_anchor_from_the_reference(folder, channels, rate):
    rng = np.random.default_rng(1)
    for name in ("ref", "x", "y"):
        write_wav(folder / f"{name}.wav", 0.2 * rng.standard_normal((channels, 12_345)), rate=rate)
    assert bring(folder, trial()).state == "done"
    slots = Task.objects.get().slots.all()
    facts = {(slot.candidate.clip.n_samples, slot.candidate.clip.channels) for slot in slots}
    assert len(slots) == 5
    assert facts == {(Clip.objects.first().n_samples, channels)}


def test_the_anchors_lack_the_treble_of_the_reference(folder):
    rng = np.random.default_rng(1)
    sounds.write(folder / "ref.wav", 0.2 * rng.standard_normal(sounds.RATE))
    for name in ("x", "y"):
        sounds.write(folder / f"{name}.wav", 0.2 * rng.standard_normal(sounds.RATE))
    bring(folder, trial())
    treble = {}
    for role, clip in added(Task.objects.get()).items():
        sound = read_flac(Path(settings.MEDIA_ROOT) / clip.canonical.name)[0]
        power = np.abs(np.fft.rfft(sound)) ** 2
        hertz = np.fft.rfftfreq(len(sound), 1 / 48_000)
        treble[role] = [power[(hertz > low) & (hertz < low + 500)].sum() for low in (2500, 5000, 7600)]
    reference, low, mid = (treble[role] for role in ("hidden_reference", "anchor_3500", "anchor_7000"))
    assert low[0] == pytest.approx(reference[0], rel=0.01)
    assert mid[1] == pytest.approx(reference[1], rel=0.01)
    assert low[1] < reference[1] / 1e5
    assert mid[2] < reference[2] / 1e5


def test_equal_references_share_their_anchors_whatever_they_are_called(folder):
    (folder / "same.wav").write_bytes((folder / "ref.wav").read_bytes())
    bring(folder, trial("i1"), trial("i2", reference="same.wav"))
    first, second = (added(task) for task in Task.objects.order_by("pk"))
    assert first == second
    assert Clip.objects.count() == 5


def test_importing_again_adds_nothing_and_makes_no_anchor(folder, monkeypatch):
    bring(folder, trial())
    before = Task.objects.get().slots.count(), Clip.objects.count()
    monkeypatch.setattr("annotation.importing.mushra.write_anchor", None)
    job = bring(folder, trial(), study=Study.objects.get())
    assert (job.state, job.report["created"]["tasks"]) == ("done", 0)
    assert (Task.objects.get().slots.count(), Clip.objects.count()) == before


def test_a_longer_source_adds_the_new_trial_with_its_anchors(folder):
    bring(folder, trial())
    bring(folder, trial(), trial("i2", "z", reference="other.wav"), study=Study.objects.get())
    assert [task.slots.count() for task in Task.objects.order_by("pk")] == [5, 4]
    assert System.objects.exclude(role=System.Role.JUDGED).count() == 3


def test_a_rehearsal_makes_nothing(folder):
    job = bring(folder, trial(), dry_run=True)
    assert (job.state, job.report["tasks"]) == ("done", 1)
    assert not Study.objects.exists()
    assert not Clip.objects.exists()


def test_a_failed_import_leaves_no_anchor(folder, monkeypatch):
    monkeypatch.setattr(import_jobs.writing, "write_staged", lambda *_, **__: 1 / 0)
    monkeypatch.setattr(jobs, "MAX_ATTEMPTS", 1)
    with pytest.raises(ZeroDivisionError):
        bring(folder, trial())
    assert not Clip.objects.exists()
    assert files(settings) == []


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({**trial(), "reference_audio": ""}, "reference_audio"),
        ({**trial(), "system_a": "anchor 7 kHz"}, "system"),
        ({**trial(), "audio_b": "ref.wav"}, "audio_b"),
        ({**trial(), "audio_b": "long.wav"}, "reference_audio"),
        ({**trial(), "audio_b": "longer.wav"}, "reference_audio"),
        ({**trial(), "audio_b": "stereo.wav"}, "reference_audio"),
        ({**trial(), "system_j": "codec-j", "audio_j": "z.wav"}, "system_j"),
        ({**trial(), "system_b": "codec-x", "audio_b": "x.wav"}, "system_b"),
        ({**trial(), "question": "quality", "candidate": "a", "value": "50"}, "value"),
    ],
)
def test_a_bad_trial_is_a_problem_of_its_row(folder, row, field, dry_run):
    job = bring(folder, trial("good", "z", "other"), row, dry_run=dry_run)
    assert (job.state, problems(job)) == ("failed", [("3", field)])
    assert not Clip.objects.exists()


def test_a_reference_of_which_no_anchor_can_be_made_is_a_problem_of_its_row(folder, monkeypatch):
    def refuse(source, target, *, role):
        raise clips.AudioError("undecodable", "broken", "Copy it again.")

    monkeypatch.setattr("annotation.importing.mushra.write_anchor", refuse)
    job = bring(folder, trial())
    assert (job.state, problems(job)) == ("failed", [("2", "reference_audio")])
    assert not Clip.objects.exists()


# ── ABX ──────────────────────────────────────────────────────────────────────


def pair(a: str = "x.wav", b: str = "y.wav", **more: str) -> dict[str, str]:
    return {"item_id": "i1", "system_a": "one", "audio_a": a, "system_b": "two", "audio_b": b, **more}


@pytest.mark.parametrize(
    ("row", "field"),
    [
        (pair(b="long.wav"), "audio_a"),
        (pair(b="longer.wav"), "audio_a"),
        (pair(b="stereo.wav"), "audio_a"),
        (pair(b="x.wav"), "audio_b"),
        (pair(rater_id="ann", question="x", value="A"), "value"),
    ],
)
def test_a_pair_that_tells_what_x_is_or_asks_nothing_is_refused(folder, row, field):
    job = bring(folder, row, preset="abx")
    assert (job.state, problems(job)) == ("failed", [("2", field)])


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize(
    ("other", "problem"),
    [
        ("longer", "differ in length: at 48 kHz audio_a has 24,000 samples and audio_b 24,003"),
        ("stereo", "differ in channels: audio_a has 1 and audio_b 2"),
    ],
)
def test_a_refusal_says_what_differs(folder, other, problem, dry_run):
    job = bring(folder, pair(b=f"{other}.wav"), preset="abx", dry_run=dry_run)
    assert problem in job.report["problems"][0]["problem"]


def test_an_abx_pair_gets_nothing_added_and_one_of_different_loudness_is_noted(folder):
    job = bring(folder, pair(b="loud.wav"), preset="abx")
    [note] = job.report["notes"]
    assert (job.state, "LU" in note) == ("done", True)
    assert Task.objects.get().slots.count() == 2
