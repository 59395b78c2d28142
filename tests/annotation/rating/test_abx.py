"""ABX tests: the server draws X, and nothing but listening tells which of the two it is."""

from __future__ import annotations

import uuid
from collections import Counter

import pytest

from annotation.listening import signed_clips
from annotation.models import Assignment, Clip
from annotation.rating import briefings, judgments, leases
from annotation.rating.judgments import Submission
from tests import factories, presets

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    study = factories.StudyFactory(preset="abx", overlap=8)
    factories.comparison_task(study, "pair")
    return study


def lease(study):
    return leases.lease_next(factories.member(study), study.slug)[1]


def test_x_is_one_of_the_two_and_every_four_raters_see_each_showing_once(study):
    shown = Counter(tuple(lease(study).presentation) for _ in range(8))
    assert shown == {(0, 1, 0): 2, (0, 1, 1): 2, (1, 0, 0): 2, (1, 0, 1): 2}


def test_a_b_and_x_are_clips_with_links_of_their_own(study):
    briefing = briefings.brief(lease(study))
    clips = [candidate["clip"] for candidate in briefing["candidates"]]
    assert [candidate["label"] for candidate in briefing["candidates"]] == ["A", "B", "X"]
    assert [clip["name"] for clip in clips] == ["a", "b", "x"]
    assert len({clip["url"] for clip in clips}) == 3


def test_nothing_in_the_briefing_tells_which_of_the_two_x_is(study):
    """Clips of one length look alike but for name and link: neither waveform, level nor size gives X away."""
    Clip.objects.filter(sha256=factories.clip("pair-1").sha256).update(loudness_lufs=-9.0, peaks=b"\x80\x7f")
    facts = [
        {name: value for name, value in candidate["clip"].items() if name not in ("name", "url")}
        for candidate in briefings.brief(lease(study))["candidates"]
    ]
    assert facts[0] == facts[1] == facts[2]


@pytest.mark.parametrize(("choice", "place"), [("A", 0), ("B", 1)])
def test_an_answer_names_the_slot_that_was_shown_there(study, choice, place):
    user = factories.member(study)
    held = leases.lease_next(user, study.slug)[1]
    judgments.submit(user, held.id, Submission(uuid.uuid4(), [{"question": "x", "choice": choice}]))
    judgment = Assignment.objects.get(pk=held.id).judgments.get()
    assert judgment.presentation == held.presentation
    assert judgment.answers.get().choice == held.presentation[place] + 1


def test_the_clip_of_x_is_that_of_its_slot(study):
    held = Assignment.objects.get(pk=lease(study).id)
    clips = signed_clips.clips_by_name(held)
    assert clips["x"] == clips["ab"[held.presentation.index(held.presentation[2])]]


def test_nothing_in_a_mushra_briefing_tells_the_hidden_reference_from_the_others(tmp_path):
    study = presets.running_study("mushra", tmp_path)
    briefing = briefings.brief(lease(study))
    [reference] = [part["clip"] for part in briefing["content"] if "clip" in part]
    clips = [reference, *(candidate["clip"] for candidate in briefing["candidates"])]
    facts = [{k: value for k, value in clip.items() if k not in ("name", "url")} for clip in clips]
    assert len(facts) == 6
    assert all(fact == facts[0] for fact in facts)
