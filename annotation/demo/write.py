"""The demo study written as a folder of source files, in the published formats that the importers read.

    music/cmi.jsonl, music/audio/*.wav          comparisons in CMI-Pref's columns, one row per vote
    audio_qa/orca.json, audio_qa/audio/*.opus   answers with lists of ratings, in ORCA's layout
    truth.json                                  outside both, so that it never reaches a study

The same seed writes the same bytes.
"""

from __future__ import annotations

import json
import shutil
import wave
from collections.abc import Iterable
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from annotation.demo.clips import (
    SYSTEMS,
    Comparison,
    MusicSystem,
    Outcome,
    Prompt,
    draw_outcome,
    load_prompts,
    make_comparisons,
    make_reference,
)
from annotation.demo.raters import RATERS, Vote, probability_of_first, rate_answers, vote_on
from annotation.demo.scenes import ANSWER_SYSTEMS, CORRECTNESS, Question, drawn_answer, load_questions
from annotation.demo.synthesis import Pcm

# What `truth.json` holds.
Truth = dict[str, Any]

SOURCE = "concord-demo"
VOTE_COLUMNS = (
    "preference-alignment",
    "confidence_preference-alignment",
    "preference-musicality",
    "confidence_preference-musicality",
    "feedback",
    "user id",
)


def write_demo(folder: Path, *, seed: int = 1, prompts: int = 24, questions: int = 20) -> Truth:
    """Write the first `prompts` prompts and the first `questions` questions; existing files are replaced.

    Returns the ground truth, which an analysis of the votes should recover.
    """
    comparisons = write_music(folder / "music", seed=seed, prompts=prompts)
    answers = write_audio_qa(folder / "audio_qa", seed=seed, questions=questions)
    truth = ground_truth(comparisons, answers=answers, seed=seed)
    _write_text(folder / "truth.json", json.dumps(truth, indent=2) + "\n")
    return truth


def ground_truth(comparisons: list[Comparison], *, answers: dict[str, int], seed: int) -> Truth:
    """The truth behind the votes, as plain JSON.

    `systems` by name, `clips` by file name, `comparisons` by "prompt/system a/system b", `answers` by item key.
    Qualities are log-odds of being preferred, 0 at best; a clip's are the sums of its flaws' and failures' costs.
    A comparison has the chance that `a`, the clip in `audio-path`, is preferred by an unbiased rater of sensitivity 1.
    `answers` holds each answer's correctness and `answer_systems` each system's expected one, from 1 to 5.
    """
    clips = {clip.file_name: clip for c in comparisons for clip in (c.a, c.b)}
    return {
        "seed": seed,
        "systems": {
            system.name: {"quality": system.quality, "adherence": system.adherence} for system in SYSTEMS
        },
        "clips": {
            name: {
                "musicality": clip.musicality,
                "alignment": clip.alignment,
                "flaws": {flaw.kind: flaw.strength for flaw in clip.flaws},
                "failures": list(clip.failures),
            }
            for name, clip in sorted(clips.items())
        },
        "comparisons": {
            c.id: {
                "prompt": c.prompt.id,
                "a": c.a.system.name,
                "b": c.b.system.name,
                "alignment": probability_of_first(c.alignment_difference),
                "musicality": probability_of_first(c.musicality_difference),
            }
            for c in comparisons
        },
        "answers": answers,
        "answer_systems": {system.name: system.accuracy for system in ANSWER_SYSTEMS},
        "raters": [asdict(rater) for rater in RATERS],
    }


def write_music(folder: Path, *, seed: int, prompts: int) -> list[Comparison]:
    chosen = load_prompts()[:prompts]
    comparisons = make_comparisons(chosen, seed=seed)
    for clip in {clip.file_name: clip for c in comparisons for clip in (c.a, c.b)}.values():
        write_wav(folder / "audio" / clip.file_name, clip.performance.pcm, rate=clip.system.sound.rate)
    for prompt in chosen:
        if reference := make_reference(prompt, seed=seed):
            write_wav(folder / _reference_path(prompt.id), reference.pcm, rate=reference.sound.rate)
    votes = vote_on(comparisons, rng=np.random.default_rng([seed, 1]))
    rows = [row for c, cast in zip(comparisons, votes, strict=True) for row in _rows(c, cast)]
    _write_text(folder / "cmi.jsonl", "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return comparisons


def _rows(comparison: Comparison, votes: list[Vote]) -> Iterable[dict[str, Any]]:
    """One row per vote; a comparison without any is one row with no vote in it."""
    prompt = comparison.prompt
    shown = {
        "prompt id": prompt.id,
        "prompt": prompt.text,
        "lyrics": prompt.lyrics or None,
        "ref-audio-path": _reference_path(prompt.id) if prompt.reference else None,
        "audio-path": f"audio/{comparison.a.file_name}",
        "audio2": f"audio/{comparison.b.file_name}",
        "model_a": comparison.a.system.name,
        "model_b": comparison.b.system.name,
    }
    origin = {"source": SOURCE, "split": prompt.split}
    if not votes:
        yield shown | dict.fromkeys(VOTE_COLUMNS) | origin
    for vote in votes:
        yield shown | dict(zip(VOTE_COLUMNS, _vote_values(vote), strict=True)) | origin


def _vote_values(vote: Vote) -> tuple[Any, ...]:
    return (
        _winner(first=vote.alignment.first),
        vote.alignment.confidence,
        _winner(first=vote.musicality.first),
        vote.musicality.confidence,
        vote.feedback,
        vote.rater.name,
    )


def _winner(*, first: bool) -> str:
    return "model_a" if first else "model_b"


def _reference_path(prompt_id: str) -> str:
    return f"audio/{prompt_id}-reference.wav"


def write_audio_qa(folder: Path, *, seed: int, questions: int) -> dict[str, int]:
    """Returns the true correctness of each answer by its item key."""
    chosen = load_questions()[:questions]
    (folder / "audio").mkdir(parents=True, exist_ok=True)
    for question in chosen:
        shutil.copyfile(question.recording, folder / "audio" / question.recording.name)
    rng = np.random.default_rng([seed, 3])
    answers = [
        (question, k, system, drawn_answer(system, rng=rng))
        for question in chosen
        for k, system in enumerate(ANSWER_SYSTEMS)
    ]
    rated = rate_answers([(question, index) for question, _, _, index in answers], rng=rng)
    items = {
        f"{question.id}_M1_{k}": {
            "ratings": [rating.value for rating in ratings],
            "feedback": [rating.feedback for rating in ratings],
            "question": question.text,
            "reference": question.reference,
            "rationale": question.rationale,
            "transcription": "",
            "candidate": question.answers[index],
            "audio": f"audio/{question.recording.name}",
            "system": system.name,
        }
        for (question, k, system, index), ratings in zip(answers, rated, strict=True)
    }
    _write_text(folder / "orca.json", json.dumps(items, indent=1, ensure_ascii=False) + "\n")
    return {f"{question.id}_M1_{k}": CORRECTNESS[index] for question, k, _, index in answers}


def write_wav(path: Path, pcm: Pcm, *, rate: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(pcm.shape[1])
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(pcm.astype("<i2").tobytes())


def _write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


# The truth of an imported study's items, known by their names and texts.


SEED = 1  # of the demo that every installation makes


def outcome(item: str, *, prompt: str, system: str) -> Outcome | None:
    """What is wrong with a system's clip for an item, drawn without playing it.

    None where the item is not the demo's, or no longer: its prompt was corrected, so what its clips are worth is
    unknown.
    """
    demo_prompt = _prompts().get(item)
    if demo_prompt is None or demo_prompt.text != prompt or system not in _systems():
        return None
    return draw_outcome(demo_prompt, _systems()[system], seed=SEED)


def answer(item: str, *, text: str) -> tuple[Question, int] | None:
    """The question of an item and which of its answers a text is. A corrected reference changes nothing: the truth is
    what is heard."""
    question = _questions().get(item)
    if question is None or text not in question.answers:
        return None
    return question, question.answers.index(text)


@cache
def _prompts() -> dict[str, Prompt]:
    return {prompt.id: prompt for prompt in load_prompts()}


@cache
def _systems() -> dict[str, MusicSystem]:
    return {system.name: system for system in SYSTEMS}


@cache
def _questions() -> dict[str, Question]:
    return {question.id: question for question in load_questions()}
