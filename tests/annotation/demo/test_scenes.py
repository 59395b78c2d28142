from __future__ import annotations

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from annotation.demo.scenes import ANSWER_SYSTEMS, CORRECTNESS, Question, load_questions

RATE = 32000
QUESTIONS = load_questions()
WORDS = {2: "two", 3: "three", 4: "four", 5: "five"}
COUNTING = [question for question in QUESTIONS if question.counts]


def question(number: int) -> Question:
    return QUESTIONS[number - 1]


def samples(asked: Question) -> NDArray[np.float64]:
    """The recording in one channel at RATE."""
    resampler = av.AudioResampler(format="s16", layout="mono", rate=RATE)
    with av.open(str(asked.recording)) as container:
        frames = [out for frame in container.decode(audio=0) for out in resampler.resample(frame)]
    return np.concatenate([frame.to_ndarray()[0] for frame in frames]).astype(float)


def heard_bursts(asked: Question) -> int:
    """How often the energy rises out of silence, by a threshold on 20 ms frames."""
    pcm = samples(asked)
    frames = pcm[: len(pcm) // 640 * 640].reshape(-1, 640)
    loud = np.sqrt(np.mean(frames**2, axis=1)) > 0.05 * np.abs(pcm).max()
    return int(loud[0]) + int(np.sum(loud[1:] & ~loud[:-1]))


def test_a_scene_holds_as_many_events_as_the_reference_or_its_rationale_says() -> None:
    for asked in COUNTING:
        assert sum(sound == asked.counts for sound, _ in asked.events) == asked.count, asked.id
        assert WORDS[asked.count] in f"{asked.reference} {asked.rationale}".lower(), asked.id
    assert [asked.id for asked in COUNTING if WORDS[asked.count] in asked.reference.lower()] == [
        "concord-q01", "concord-q02", "concord-q10", "concord-q16",
    ]  # fmt: skip


@pytest.mark.parametrize(("number", "bursts"), [(2, 5), (10, 5), (11, 7), (18, 5)])
def test_the_events_can_be_counted_by_ear(number: int, bursts: int) -> None:
    assert heard_bursts(question(number)) == bursts


def test_each_problem_occurs_once_and_only_a_wrong_reference_misleads_about_the_answers() -> None:
    assert sorted(asked.problem for asked in QUESTIONS if asked.problem) == ["a", "q", "r", "u"]
    [wrong] = [asked for asked in QUESTIONS if asked.by_reference != CORRECTNESS]
    assert (wrong.problem, wrong.reference) == ("r", "Four")
    assert len(wrong.events) == heard_bursts(wrong) == 5
    assert all(len(set(asked.answers)) == len(asked.by_reference) == 5 for asked in QUESTIONS)


@pytest.mark.parametrize("asked", QUESTIONS, ids=lambda asked: asked.id)
def test_a_recording_is_short_and_sounds_where_its_events_start(asked: Question) -> None:
    pcm = samples(asked)
    assert 3.9 <= len(pcm) / RATE <= 6.1
    assert np.abs(pcm).max() <= 32768 * 10 ** (-1 / 20)
    for _, start in asked.events:
        heard = pcm[round(start * RATE) : round((start + 0.5) * RATE)]
        assert np.std(heard) > 0.01 * np.abs(pcm).max()


def test_the_rising_tone_rises_and_the_second_tone_is_lower() -> None:
    def dominant(asked: Question, start: float, stop: float) -> float:
        part = samples(asked)[round(start * RATE) : round(stop * RATE)]
        return float(np.argmax(np.abs(np.fft.rfft(part))) * RATE / len(part))

    assert dominant(question(7), 0.8, 1.1) < dominant(question(7), 1.8, 2.1) < dominant(question(7), 2.7, 3.0)
    assert dominant(question(8), 0.7, 1.2) == pytest.approx(2 * dominant(question(8), 2.1, 2.6), rel=0.01)


def test_the_vehicle_comes_closer() -> None:
    pcm = samples(question(12))
    seconds = [float(np.std(pcm[k * RATE : (k + 1) * RATE])) for k in range(1, 4)]
    assert seconds == sorted(seconds)


def test_answer_systems_have_known_and_different_accuracy() -> None:
    assert {system.name: round(system.accuracy, 2) for system in ANSWER_SYSTEMS} == {
        "Ostinato-7B": 4.33, "Tacet-Mini": 3.5, "Fermata-Chat": 3.42, "Coda-0": 2.18,
    }  # fmt: skip
    assert all(sum(system.shares) == pytest.approx(1.0) for system in ANSWER_SYSTEMS)
