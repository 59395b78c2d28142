from __future__ import annotations

import numpy as np
import pytest

from annotation.demo.scenes import (
    ANSWER_SYSTEMS,
    CORRECTNESS,
    SCENE_RATE,
    Question,
    load_questions,
    render_scene,
)
from annotation.demo.synthesis import SOUNDS

QUESTIONS = load_questions()
WORDS = {2: "two", 3: "three", 4: "four", 5: "five"}
COUNTING = [question for question in QUESTIONS if question.counts]


def question(number: int) -> Question:
    return QUESTIONS[number - 1]


def heard_bursts(asked: Question) -> int:
    """How often the energy rises out of silence, by a threshold on 20 ms frames."""
    pcm = render_scene(asked, rng=np.random.default_rng(1))[:, 0].astype(float)
    frames = pcm[: len(pcm) // 640 * 640].reshape(-1, 640)
    loud = np.sqrt(np.mean(frames**2, axis=1)) > 0.05 * np.abs(pcm).max()
    return int(loud[0]) + int(np.sum(loud[1:] & ~loud[:-1]))


@pytest.mark.parametrize("asked", COUNTING, ids=lambda asked: asked.id)
def test_a_scene_holds_as_many_events_as_the_reference_says(asked: Question) -> None:
    assert sum(event.sound == asked.counts for event in asked.scene) == asked.count
    assert WORDS[asked.count] in f"{asked.reference} {asked.rationale}".lower()


def test_most_counts_are_the_reference_itself() -> None:
    assert [asked.id for asked in COUNTING if WORDS[asked.count] in asked.reference.lower()] == [
        "concord-q01", "concord-q02", "concord-q10", "concord-q16",
    ]  # fmt: skip


@pytest.mark.parametrize(("number", "bursts"), [(2, 5), (10, 5), (11, 7), (18, 5)])
def test_the_events_can_be_counted_by_ear(number: int, bursts: int) -> None:
    assert heard_bursts(question(number)) == bursts


def test_a_wrong_reference_is_wrong_by_ear() -> None:
    asked = next(asked for asked in QUESTIONS if asked.problem == "r")
    assert asked.reference == "Four"
    assert len(asked.scene) == heard_bursts(asked) == 5
    assert asked.by_reference != CORRECTNESS


def test_only_a_wrong_reference_misleads_about_the_answers() -> None:
    assert [asked.problem for asked in QUESTIONS if asked.by_reference != CORRECTNESS] == ["r"]


def test_each_problem_occurs_once() -> None:
    assert sorted(asked.problem for asked in QUESTIONS if asked.problem) == ["a", "q", "r", "u"]


@pytest.mark.parametrize("asked", QUESTIONS, ids=lambda asked: asked.id)
def test_a_scene_plays_known_sounds_within_its_length(asked: Question) -> None:
    assert 4.0 <= asked.seconds <= 6.0
    for event in asked.scene:
        signal = SOUNDS[event.sound](event.seconds, SCENE_RATE, np.random.default_rng(1))
        assert np.abs(signal).max() > 0.05
        assert event.start + len(signal) / SCENE_RATE <= asked.seconds + 0.001


@pytest.mark.parametrize("asked", QUESTIONS, ids=lambda asked: asked.id)
def test_a_question_has_five_different_answers(asked: Question) -> None:
    assert len(set(asked.answers)) == len(asked.by_reference) == 5


def test_the_rising_tone_rises_and_the_second_tone_is_lower() -> None:
    def dominant(asked: Question, start: float, stop: float) -> float:
        pcm = render_scene(asked, rng=np.random.default_rng(1))[:, 0]
        part = pcm[round(start * SCENE_RATE) : round(stop * SCENE_RATE)].astype(float)
        return float(np.argmax(np.abs(np.fft.rfft(part))) * SCENE_RATE / len(part))

    assert dominant(question(7), 0.8, 1.1) < dominant(question(7), 1.8, 2.1) < dominant(question(7), 2.7, 3.0)
    assert dominant(question(8), 0.7, 1.2) == pytest.approx(2 * dominant(question(8), 2.1, 2.6), rel=0.01)


def test_the_vehicle_comes_closer() -> None:
    pcm = render_scene(question(12), rng=np.random.default_rng(1))[:, 0].astype(float)
    seconds = [float(np.std(pcm[k * SCENE_RATE : (k + 1) * SCENE_RATE])) for k in range(1, 4)]
    assert seconds == sorted(seconds)


def test_answer_systems_have_known_and_different_accuracy() -> None:
    assert {system.name: round(system.accuracy, 2) for system in ANSWER_SYSTEMS} == {
        "Ostinato-7B": 4.33, "Tacet-Mini": 3.5, "Fermata-Chat": 3.42, "Coda-0": 2.18,
    }  # fmt: skip
    assert all(sum(system.shares) == pytest.approx(1.0) for system in ANSWER_SYSTEMS)
