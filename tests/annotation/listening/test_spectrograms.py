"""Spectrograms as they are served: one size, drawn once, and only where a study shows them."""

from __future__ import annotations

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from annotation import protocols
from annotation.audio.spectrogram import N_BYTES
from annotation.errors import NotFound
from annotation.listening import coverage, spectrograms
from annotation.listening.rules.coverage import ListeningRules
from annotation.models import Assignment, Clip
from annotation.rating import briefings, leases
from tests import factories
from tests.annotation.world import store

pytestmark = pytest.mark.django_db


def leased(preset: str = "cmi-pref", *, spectrogram: bool = True) -> Assignment:
    study = factories.StudyFactory(slug="s", preset=preset)
    factories.comparison_task(study, "task", reference_clip=factories.clip("reference"))
    for clip in Clip.objects.all():
        store(clip)
    coverage.set_listening_rules(study, actor=None, spectrogram=spectrogram)
    lease = leases.lease_next(factories.member(study), "s")[1]
    return Assignment.objects.select_related("task__study").get(pk=lease.id)


def picture(assignment: Assignment, name: str) -> bytes:
    rules = ListeningRules.of(assignment.task.study.rules)
    return spectrograms.spectrogram_of(assignment, name, rules=rules)


def shown(assignment: Assignment) -> list[bool]:
    brief = briefings.brief(assignment)
    clips = [part["clip"] for part in brief["content"] + brief["candidates"] if "clip" in part]
    return ["spectrogram" in clip for clip in clips]


def test_every_clip_of_a_task_has_one_of_the_same_size(db):
    assignment = leased()
    pictures = {name: picture(assignment, name) for name in ("a", "b", "reference")}
    assert {len(picture) for picture in pictures.values()} == {N_BYTES}
    assert len(set(pictures.values())) == 3
    assert shown(assignment) == [True, True, True]


def kept() -> list[str]:
    folders, _ = default_storage.listdir("clips/spectrograms")
    names = [(folder, default_storage.listdir(f"clips/spectrograms/{folder}")[1]) for folder in folders]
    return [f"clips/spectrograms/{folder}/{name}" for folder, files in names for name in files]


def test_it_is_drawn_once_and_two_who_ask_at_once_leave_one_file(db, monkeypatch):
    assignment = leased()
    draw = spectrograms.spectrogram

    def while_another_draws(file, *, n_samples):
        monkeypatch.setattr(spectrograms, "spectrogram", draw)
        picture(assignment, "a")
        return draw(file, n_samples=n_samples)

    monkeypatch.setattr(spectrograms, "spectrogram", while_another_draws)
    drawn = picture(assignment, "a")
    assert (len(drawn), len(kept())) == (N_BYTES, 1)
    monkeypatch.setattr(spectrograms, "spectrogram", lambda *a, **k: pytest.fail("drawn again"))
    assert picture(assignment, "a") == drawn


@pytest.mark.parametrize("n_bytes", [0, N_BYTES - 1, N_BYTES + 1])
def test_a_file_that_is_not_whole_is_drawn_again_and_replaced(db, n_bytes):
    assignment = leased()
    drawn = picture(assignment, "a")
    (name,) = kept()
    default_storage.delete(name)
    default_storage.save(name, ContentFile((drawn + b"x")[:n_bytes]))
    assert picture(assignment, "a") == drawn
    assert kept() == [name]
    assert default_storage.open(name).read() == drawn


def test_there_is_none_unless_the_study_says_so_nor_of_what_is_not_there_or_was_given_back(db):
    assignment = leased(spectrogram=False)
    assert shown(assignment) == [False, False, False]
    with pytest.raises(NotFound):
        picture(assignment, "a")
    assignment.task.study = coverage.set_listening_rules(assignment.task.study, actor=None, spectrogram=True)
    with pytest.raises(NotFound):
        picture(assignment, "c")
    assignment.state = Assignment.State.RETURNED
    with pytest.raises(NotFound):
        picture(assignment, "a")


@pytest.mark.parametrize("preset", ["abx", "mushra"])
def test_there_is_none_where_two_clips_are_one_sound(preset):
    rules = ListeningRules(spectrogram=True)
    assert not spectrograms.shows_spectrograms(protocols.preset(preset), rules)
