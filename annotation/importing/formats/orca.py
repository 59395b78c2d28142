"""The layouts of the ORCA releases: answers with their individual ratings and feedback.

The first generation is a JSON file, one object; the second has the same entries as lines, each with its `id`:

    {"<item id>_<system>": {"question", "reference", "rationale", "transcription", "candidate",
                            "ratings": [1…5 or null], "feedback": [null or list of codes and remarks]}}
    {"id": "<item id>_<system>", "question", "reference", "rationale", "candidate", "ratings": [1…5 or null]}

The last two parts of a key, as in `…_M2_1`, name the system. Three further fields are read when they are there: `audio`
(the recording, relative to the file), `system` and `item` (names to use instead). A line's `id` may name no system: its
answer is then one of the item's, by whatever system. Ratings of one answer come from people who are not named: they
become judgments of exchangeable, unnamed raters, never of "rater 1".
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from annotation.importing.formats import json_files, source_files
from annotation.importing.formats.columns import UNNAMED_SYSTEM
from annotation.importing.records import (
    AnswerRecord,
    Audio,
    CandidateRecord,
    ItemRecord,
    JudgmentRecord,
    Note,
    RowProblem,
    TaskRecord,
    task_name,
)
from annotation.protocols import Protocol

TEXTS = {
    "question": "question",
    "reference": "reference",
    "rationale": "rationale",
    "transcription": "transcript",
}
REQUIRED = ("question", "reference", "candidate", "ratings")
# What later releases say of a question and has no place here.
LEFT_OUT = ("rubric", "correction_notes")
# Ids of videos have underscores of their own: in a line, nothing but the release's own names of systems is one.
SYSTEM_OF_A_LINE = re.compile(r"(.+)_(M\d+_\d+)\Z", re.DOTALL)
SYSTEM_OF_A_KEY = re.compile(r"(.*)_([^_]*_[^_]*)\Z", re.DOTALL)
LAYOUT = "Use the released layout."


def read(
    source: Path, protocol: Protocol, column_map: Mapping[str, str]
) -> Iterator[TaskRecord | RowProblem | Note]:
    """Records of one file, or of every *.json and *.jsonl of a folder."""
    paths = sorted([*source.glob("*.json"), *source.glob("*.jsonl")]) if source.is_dir() else [source]
    if not paths:
        remedy = "Name a folder with the released files, or one file."
        yield RowProblem("", "", f"{source} holds no .json or .jsonl file", remedy)
    left_out: Counter[str] = Counter()
    for path in paths:
        entries = _lines(path) if path.suffix.lower() == ".jsonl" else _object(path)
        for entry in entries:
            yield from (
                [entry] if isinstance(entry, RowProblem) else _task(entry, path.parent, protocol, left_out)
            )
    for name, n in sorted(left_out.items()):
        yield Note(NOTES[name].format(n=n, name=name))


NOTES = {
    **dict.fromkeys(LEFT_OUT, "{name} of {n} answers was left out: it has no place here."),
    UNNAMED_SYSTEM: "{n} answers do not say which system gave them; they are all of “unnamed”.",
}


@dataclass(frozen=True)
class _Entry:
    row: str
    key: str
    values: dict[str, Any]
    # The key in two, or the `item` that it has; the first generation's keys always name a system.
    item: str
    system: str

    def problem(self, field: str, problem: str, remedy: str) -> RowProblem:
        return RowProblem(self.row, field, problem, remedy)


def _object(path: Path) -> Iterator[_Entry | RowProblem]:
    for number, entry in enumerate(json_files.stream_entries(path, opens="{"), 1):
        if isinstance(entry, RowProblem):
            yield entry
            continue
        row, (key, values) = f"{path.name} #{number}", entry
        match = SYSTEM_OF_A_KEY.match(key)
        if match is None:
            remedy = "Name the system: item_M1_0."
            yield RowProblem(row, "key", f"{key!r} does not end in _<group>_<number>", remedy)
        elif isinstance(values, dict):
            yield _Entry(row, key, values, *_parts(key, values, match))
        else:
            yield RowProblem(row, key, "is not an object", LAYOUT)


def _lines(path: Path) -> Iterator[_Entry | RowProblem]:
    for entry in json_files.json_lines(path):
        if isinstance(entry, RowProblem):
            yield replace(entry, row=f"{path.name} #{entry.row}")
            continue
        row, values = f"{path.name} #{entry[0]}", entry[1]
        if (key := values.get("id")) in (None, "") or isinstance(key, bool | list | dict):
            yield RowProblem(row, "id", "is missing", "Give every line the id of its question.")
        else:
            key = str(key)
            match = SYSTEM_OF_A_LINE.match(key)
            yield _Entry(row, key, values, *_parts(key, values, match))


def _parts(key: str, values: dict[str, Any], match: re.Match[str] | None) -> tuple[str, str]:
    """Item and system, as `item` and the key say; a training set's key says of which version of the item, too."""
    item, system = (match[1], match[2]) if match else (key, "")
    item_name = values.get("item")
    if not item_name or not isinstance(item_name, str):
        return item, system
    match_of_version = re.fullmatch(rf"({re.escape(item_name)}(?:\.v\d+)?)_([^_]+_[^_]+)", key)
    return (match_of_version[1], match_of_version[2]) if match_of_version else (item_name, system)


def _task(
    entry: _Entry, folder: Path, protocol: Protocol, left_out: Counter[str]
) -> Iterator[TaskRecord | RowProblem]:
    values = entry.values
    if missing := [name for name in REQUIRED if name not in values]:
        yield entry.problem(", ".join(missing), "is missing", LAYOUT)
        return
    wrong = [name for name in TEXTS if not isinstance(values.get(name) or "", str)]
    wrong += [] if isinstance(values["candidate"], str) else ["candidate"]
    wrong += [] if isinstance(values.get("item") or "", str) else ["item"]
    if wrong:
        yield entry.problem(", ".join(wrong), "is not a text", "Put the text in quotes.")
        return
    audio: Audio | None = None
    if name := values.get("audio"):
        resolved = source_files.resolve_audio(folder, str(name), row=entry.row, field="audio")
        if isinstance(resolved, RowProblem):
            yield resolved
            return
        audio = resolved
    judgments, problems = _judgments(entry.row, values, protocol)
    yield from problems
    if problems:
        return
    system = str(values.get("system") or entry.system or UNNAMED_SYSTEM)
    left_out.update(name for name in LEFT_OUT if values.get(name))
    left_out.update({UNNAMED_SYSTEM: 1} if system == UNNAMED_SYSTEM else {})
    answer = values["candidate"]
    yield TaskRecord(
        row=entry.row,
        external_id=entry.key if entry.system else task_name(entry.item, [system, _digest(answer)]),
        item=ItemRecord(
            entry.item,
            {ours: values.get(theirs) or "" for theirs, ours in TEXTS.items()},
            audio=audio,
        ),
        candidates=(CandidateRecord(system, text=answer),),
        judgments=judgments,
    )


def _digest(text: str) -> str:
    """Which of several answers to a question: two may be of one system, or of none that is named."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]


def _judgments(
    row: str, entry: dict[str, Any], protocol: Protocol
) -> tuple[list[JudgmentRecord], list[RowProblem]]:
    ratings, feedback = entry["ratings"], entry.get("feedback")
    if feedback is None:
        feedback = [None] * len(ratings) if isinstance(ratings, list) else []
    if not isinstance(ratings, list) or not isinstance(feedback, list) or len(ratings) != len(feedback):
        problem = RowProblem(
            row, "feedback", "and ratings are not lists of one length", "Give one entry per rater."
        )
        return [], [problem]
    judgments, problems = [], []
    for index, (rating, feedback_entry) in enumerate(zip(ratings, feedback, strict=True)):
        if rating is None and not feedback_entry:
            continue  # a place nobody filled
        codes, remarks, unknown = _feedback(feedback_entry, protocol)
        problems += [
            RowProblem(
                row, f"feedback[{index}]", f"{code!r} is not one of the codes {', '.join(protocol.code_keys)}",
                "Mend the code, or write a remark of more than two characters.",
            )
            for code in unknown
        ]  # fmt: skip
        question = protocol.questions[0]
        if rating is not None and (isinstance(rating, bool) or rating not in question.values):
            scale = ", ".join(f"{value:g}" for value in question.values)
            problems.append(
                RowProblem(
                    row,
                    f"ratings[{index}]",
                    f"{rating!r} is not on the scale {scale}",
                    "Mend the rating, or use null.",
                )
            )
            continue
        answers = () if rating is None else (AnswerRecord(question.key, value=float(rating)),)
        judgments.append(JudgmentRecord(f"#{index}", row, "", answers, codes, remarks))
    return judgments, problems


def _feedback(feedback_entry: Any, protocol: Protocol) -> tuple[tuple[str, ...], str, list[str]]:
    """Codes, the remarks beside them, and what looks like a code but is none."""
    entries = (
        [feedback_entry] if isinstance(feedback_entry, str) else [str(part) for part in feedback_entry or []]
    )
    codes = [entry.strip().upper() for entry in entries if entry.strip().upper() in protocol.code_keys]
    others = [
        entry.strip()
        for entry in entries
        if entry.strip().upper() not in protocol.code_keys and entry.strip()
    ]
    unknown = [entry for entry in others if len(entry) <= 2]
    return tuple(sorted(set(codes))), "\n".join(entry for entry in others if len(entry) > 2), unknown
