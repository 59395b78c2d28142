"""Spoken traps and identical pairs, made of a study's own tasks."""

from __future__ import annotations

import numpy as np
import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from annotation.audio.flac import FlacWriter, quantise
from annotation.audio.ingest import measure_and_canonicalise
from annotation.checks import expected as expectations
from annotation.checks import keys, traps
from annotation.checks.expected import ExpectedAnswer
from annotation.errors import InvalidInput
from annotation.jobs import jobs
from annotation.models import Clip, GoldKey, Job, Study, Task
from annotation.protocols import Protocol
from annotation.studies.protocols import load_protocol
from tests import factories

pytestmark = pytest.mark.django_db
SECONDS = 4


@pytest.fixture
def pairs() -> Study:
    study = factories.StudyFactory(preset="music-arena")
    factories.comparison_task(study, "pair")
    return study


def sounding(clip: Clip, folder) -> None:
    """Give a clip four seconds of sound, measured."""
    source, target = folder / "source.flac", folder / "canonical.flac"
    rng = np.random.default_rng(clip.pk)
    sound = (0.1 * rng.standard_normal((2, SECONDS * 48_000))).astype(np.float32)
    with FlacWriter(source, channels=2, bits=16, rate=48_000) as writer:
        writer.push(quantise(sound, bits=16))
    facts = measure_and_canonicalise(source, target)
    default_storage.delete(clip.canonical.name)
    default_storage.save(clip.canonical.name, ContentFile(target.read_bytes()))
    Clip.objects.filter(pk=clip.pk).update(
        n_samples=facts.n_samples, duration_s=facts.duration_s, loudness_lufs=facts.loudness_lufs
    )


def test_a_trap_sounds_as_long_and_as_loud_as_its_task_and_expects_what_it_says(pairs, tmp_path):
    shown = [slot.candidate.clip for slot in Task.objects.get().slots.select_related("candidate__clip")]
    for clip in shown:
        sounding(clip, tmp_path)
    job = traps.start_traps(pairs, n=1, language="en", actor=None)
    jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.report) == (Job.State.DONE, {"traps": 1})
    trap = Task.objects.get(kind=Task.Kind.TRAP)
    assert (
        GoldKey.objects.get(task=trap).choice == 1
    )  # "choose A", which is the first, as a trap is shown as listed
    for slot, before in zip(trap.slots.select_related("candidate__clip"), shown, strict=True):
        clip = slot.candidate.clip
        before.refresh_from_db()
        assert clip.sha256 != before.sha256
        assert clip.n_samples == before.n_samples
        assert clip.loudness_lufs == pytest.approx(before.loudness_lufs, abs=0.1)
    pairs.refresh_from_db()
    assert (pairs.n_tasks, pairs.n_items) == (1, 1)
    jobs.run(job.pk)
    assert Task.objects.filter(kind=Task.Kind.TRAP).count() == 1


def test_an_identical_pair_shows_one_candidate_twice_and_expects_a_tie(pairs):
    assert traps.make_identical(pairs, n=3, actor=None) == 1
    pair = Task.objects.get(kind=Task.Kind.IDENTICAL)
    assert len(set(pair.slots.values_list("candidate", flat=True))) == 1
    assert set(GoldKey.objects.filter(task=pair).values_list("choice", flat=True)) == {3}
    assert traps.make_identical(pairs, n=3, actor=None) == 0


@pytest.mark.parametrize(
    ("preset", "recordings"), [("orca", "1 2 3 4 5"), ("cmi-pref", "A B"), ("mushra", "")]
)
def test_a_voice_says_only_what_the_protocol_takes(preset, recordings):
    study = factories.StudyFactory(preset=preset)
    known = traps.instructions(load_protocol(study.protocol_version_id).spec)
    assert [one.recording for one in known if preset != "mushra"] == recordings.split()


def test_studies_without_sounds_to_speak_over_are_told(pairs):
    with pytest.raises(InvalidInput, match="No task of it has clips"):
        traps.start_traps(pairs, n=1, language="en", actor=None)


def protocol(preset: str) -> Protocol:
    return load_protocol(factories.StudyFactory(preset=preset).protocol_version_id).spec


@pytest.mark.parametrize(
    ("preset", "question", "answer", "tolerance", "problem"),
    [
        ("orca", "quality", "4", 0, "no question with an expected answer"),
        ("orca", "correctness", "6", 0, "not on the scale of correctness"),
        ("orca", "correctness", "good", 0, "answered by a number"),
        ("orca", "correctness", "4", 9, "accepts every answer"),
        ("cmi-pref", "alignment", "tie", 0, "alignment has no answer 'tie'"),
    ],
)
def test_an_answer_that_the_protocol_does_not_have_is_refused(preset, question, answer, tolerance, problem):
    expected = ExpectedAnswer(question, answer, tolerance)
    assert problem in expectations.key_values(protocol(preset), expected, where="gold").message


def test_gold_set_by_hand_is_stored_in_the_place_of_what_was_expected_before():
    study = factories.StudyFactory()
    task = factories.rating_task(study, "bell")
    for answer in ("2", "4"):
        keys.set_gold(
            study,
            task,
            [ExpectedAnswer("correctness", answer, 1, {"en": " A bell. ", "zh-hans": " "})],
            actor=None,
        )
    assert GoldKey.objects.values_list("value", "tolerance", "explanation").get() == (4, 1, {"en": "A bell."})
    task.refresh_from_db()
    assert task.kind == Task.Kind.GOLD
    with pytest.raises(InvalidInput, match="cannot be expected"):
        keys.set_gold(study, task, [ExpectedAnswer("correctness", "9")], actor=None)
    assert GoldKey.objects.get().value == 4
