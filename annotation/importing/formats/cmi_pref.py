"""CMI-Pref's published columns: JSONL, one row per vote, audio paths relative to the file (arXiv 2603.00610).

Rows about the same two clips of one prompt are votes on one task, in whichever order they name the clips. Rows without
a vote make a task that waits for raters. `user id` names a rater; without it the vote is an unnamed rater's.

CMI-RewardBench has the same columns for votes of other sources: Music Arena's are one `preference`, which the
music-arena protocol asks for. Its rows of PAM and MusicEval are means over raters of single clips; they are refused,
for a mean is nobody's judgment.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from annotation.importing.formats import json_files, source_files
from annotation.importing.formats.source_files import ReadPosition
from annotation.importing.records import (
    COMPLETE,
    AnswerRecord,
    Audio,
    CandidateRecord,
    ItemRecord,
    JudgmentRecord,
    RowProblem,
    TaskRecord,
    task_name,
)
from annotation.protocols import Protocol, QuestionSpec
from annotation.rating.rules.answers import BOTH_BAD, FIRST, SECOND, TIE

VOTES = {"alignment": "preference-alignment", "musicality": "preference-musicality"}
SINGLE_VOTE = {"overall": "preference"}
MEANS = ("musicality", "text-music alignment")
SIDES = {"model_a": 0, "a": 0, "model_b": 1, "b": 1}
TIES = {"both", "tie"}
NEITHER = "neither"
STRATA = ("source", "split")
REQUIRED = ("prompt", "audio-path", "audio2", "model_a", "model_b")


def read(
    source: Path, protocol: Protocol, column_map: Mapping[str, str], place: ReadPosition | None = None
) -> Iterator[TaskRecord | RowProblem]:
    for entry in json_files.json_lines(source, place):
        if isinstance(entry, RowProblem):
            yield entry
            continue
        outcome = _row(*entry, source.parent, protocol)
        yield from [outcome] if isinstance(outcome, TaskRecord) else outcome


def _row(row: str, entry: dict[str, Any], folder: Path, protocol: Protocol) -> TaskRecord | list[RowProblem]:
    if not entry.get("audio2") and (means := [name for name in MEANS if entry.get(name) not in (None, "")]):
        remedy = (
            "Leave such rows out; import the single ratings as csv, by the protocol that they were given by."
        )
        return [RowProblem(row, ", ".join(means), "is the mean of ratings of one clip, not a vote", remedy)]
    if missing := [name for name in REQUIRED if not str(entry.get(name) or "").strip()]:
        return [
            RowProblem(row, name, "is missing", "Every row names its prompt, both clips and both models.")
            for name in missing
        ]
    paths = {
        field: source_files.resolve_audio(folder, str(entry[field]), row=row, field=field)
        for field in ("audio-path", "audio2", "ref-audio-path")
        if entry.get(field)
    }
    problems = [path for path in paths.values() if isinstance(path, RowProblem)]
    audio = {field: sound for field, sound in paths.items() if not isinstance(sound, RowProblem)}
    if audio.get("audio-path") and audio.get("audio-path") == audio.get("audio2"):
        problems.append(
            RowProblem(
                row, "audio2", "is the same file as audio-path", "Name the two clips that were compared."
            )
        )
    order, vote, faults = _vote(row, entry, protocol)
    problems += faults
    if problems:
        return problems
    candidates = [
        CandidateRecord(str(entry["model_a"]), audio=audio["audio-path"], column="audio-path"),
        CandidateRecord(str(entry["model_b"]), audio=audio["audio2"], column="audio2"),
    ]
    names = [str(entry["audio-path"]), str(entry["audio2"])]
    item = _item(entry, audio)
    return TaskRecord(
        row=row,
        external_id=task_name(item.external_id, [names[position] for position in order]),
        item=item,
        candidates=tuple(candidates[position] for position in order),
        judgments=[vote] if vote else [],
    )


def _item(entry: dict[str, Any], audio: Mapping[str, Audio]) -> ItemRecord:
    texts = {"prompt": str(entry["prompt"]), "lyrics": str(entry.get("lyrics") or "")}
    reference = str(entry.get("ref-audio-path") or "")
    digest = hashlib.sha256("\x1f".join([*texts.values(), reference]).encode()).hexdigest()[:16]
    return ItemRecord(
        external_id=f"prompt-{digest}" if entry.get("prompt id") in (None, "") else str(entry["prompt id"]),
        texts=texts,
        reference_audio=audio.get("ref-audio-path"),
        strata={name: str(entry[name]) for name in STRATA if entry.get(name)},
    )


def _vote(
    row: str, entry: dict[str, Any], protocol: Protocol
) -> tuple[list[int], JudgmentRecord | None, list[RowProblem]]:
    """The stable order of the two clips, the vote in those terms (None where there is none), and its faults."""
    keys = [(str(entry["model_a"]), str(entry["audio-path"])), (str(entry["model_b"]), str(entry["audio2"]))]
    order = sorted((0, 1), key=lambda position: keys[position])
    answers, problems = [], []
    for question, column in _votes_of(entry).items():
        if (answer_text := entry.get(column)) in (None, ""):
            continue
        choice = _choice(str(answer_text), order, protocol.question(question))
        if choice is None:
            remedy = "Use model_a, model_b or both."
            problems.append(RowProblem(row, column, f"{answer_text!r} is not a preference", remedy))
        confidence, fault = _confidence(row, f"confidence_{column}", entry)
        problems += fault
        answers.append(AnswerRecord(question, choice=choice, confidence=confidence))
    if evidence := str(entry.get("feedback") or "").strip():
        answers.append(AnswerRecord("evidence", text=evidence))
    rater = "" if entry.get("user id") is None else str(entry["user id"]).strip()
    if unknown := [answer.question for answer in answers if protocol.question(answer.question) is None]:
        fitting = "music-arena" if "overall" in unknown else "cmi-pref"
        remedy = f"Use the {fitting} protocol for these rows, and leave them out of other studies."
        problems.append(RowProblem(row, ", ".join(unknown), "is not asked by the study's protocol", remedy))
    if not answers or problems:
        return order, None, problems
    # Shown as listed: model_a is what the rater heard as A.
    presentation = tuple(order.index(position) for position in (0, 1))
    return order, JudgmentRecord(COMPLETE, row, rater, tuple(answers), (), "", presentation, "user id"), []


def _votes_of(entry: Mapping[str, Any]) -> Mapping[str, str]:
    """Where a row says which clip is better; a table under `preference` says nothing beyond the two columns."""
    two = any(entry.get(column) not in (None, "") for column in VOTES.values())
    return SINGLE_VOTE if not two and isinstance(entry.get("preference"), str) else VOTES


def _choice(answer: str, order: list[int], question: QuestionSpec | None) -> int | None:
    if answer == NEITHER:
        return BOTH_BAD if question and question.both_bad else TIE
    if answer in TIES:
        return TIE
    if answer not in SIDES:
        return None
    return FIRST if order[0] == SIDES[answer] else SECOND


def _confidence(row: str, column: str, entry: dict[str, Any]) -> tuple[float | None, list[RowProblem]]:
    """1 to 5 in halves, as published; the form here asks for whole points, imported votes keep what was given."""
    cell = entry.get(column)
    if cell in (None, ""):
        return None, []
    try:
        value = float(cell)
    except (TypeError, ValueError):
        value = 0.0
    if not 1 <= value <= 5 or value * 2 != int(value * 2):
        return None, [
            RowProblem(
                row,
                column,
                f"{cell!r} is not 1 to 5 in steps of 0.5",
                "Mend the confidence, or leave it out.",
            )
        ]
    return value, []
