"""The layout of the ORCA release: JSON objects of answers with their individual ratings and feedback.

    {"<item id>_<system>": {"question", "reference", "rationale", "transcription", "candidate",
                            "ratings": [1…5 or null], "feedback": [null or list of codes and remarks]}}

The last two parts of a key, as in `…_M2_1`, name the system. Two further fields are read when they are there: `audio`
(the recording, relative to the file) and `system` (a name to use instead). Ratings of one answer come from people who
are not named: they become judgments of exchangeable, unnamed raters, never of "rater 1".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from annotation.importers import files
from annotation.importers.records import (
    AnswerRecord,
    CandidateRecord,
    ItemRecord,
    JudgmentRecord,
    RowProblem,
    TaskRecord,
)
from annotation.protocols import Protocol

TEXTS = {
    "question": "question",
    "reference": "reference",
    "rationale": "rationale",
    "transcription": "transcript",
}
REQUIRED = ("question", "reference", "candidate", "ratings")


def read(
    source: Path, protocol: Protocol, column_map: Mapping[str, str]
) -> Iterator[TaskRecord | RowProblem]:
    """Records of one JSON file, or of every *.json of a folder."""
    paths = sorted(source.glob("*.json")) if source.is_dir() else [source]
    if not paths:
        yield RowProblem(
            "", "", f"{source} holds no .json file", "Name a folder with the released files, or one file."
        )
    for path in paths:
        yield from _read_file(path, protocol)


def _read_file(path: Path, protocol: Protocol) -> Iterator[TaskRecord | RowProblem]:
    entries: list[tuple[str, Any]] = []
    try:
        # Pairs, because a dictionary would silently keep the last of two entries with one key.
        parsed = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=_Pairs)
    except UnicodeDecodeError as error:
        yield RowProblem(path.name, "", f"is not UTF-8 (byte {error.start + 1})", files.UTF8)
        return
    except (ValueError, RecursionError) as error:
        yield RowProblem(path.name, "", f"is not JSON: {error}", "Export the file again.")
        return
    if not isinstance(parsed, _Pairs):
        yield RowProblem(
            path.name, "", "is not a JSON object", "Use the released layout: one object of entries."
        )
        return
    entries = list(parsed)
    for number, (key, entry) in enumerate(entries, 1):
        row = f"{path.name} #{number}"
        if isinstance(entry, _Pairs):
            yield from _task(row, key, dict(entry), path.parent, protocol)
        else:
            yield RowProblem(row, key, "is not an object", "Use the released layout.")


class _Pairs(list[tuple[str, Any]]):
    """A JSON object in the order written, doubles included."""


def _task(
    row: str, key: str, entry: dict[str, Any], folder: Path, protocol: Protocol
) -> Iterator[TaskRecord | RowProblem]:
    parts = key.rsplit("_", 2)
    if len(parts) != 3:
        yield RowProblem(
            row, "key", f"{key!r} does not end in _<group>_<number>", "Name the system: item_M1_0."
        )
        return
    if missing := [name for name in REQUIRED if name not in entry]:
        yield RowProblem(row, ", ".join(missing), "is missing", "Use the released layout.")
        return
    wrong = [name for name in (*TEXTS, "candidate") if not isinstance(entry.get(name, ""), str)]
    if wrong:
        yield RowProblem(row, ", ".join(wrong), "is not a text", "Put the text in quotes.")
        return
    audio: Path | None = None
    if name := entry.get("audio"):
        found = files.beside(folder, str(name), row=row, field="audio")
        if isinstance(found, RowProblem):
            yield found
            return
        audio = found
    judgments, problems = _judgments(row, entry, protocol)
    yield from problems
    if problems:
        return
    yield TaskRecord(
        row=row,
        external_id=key,
        item=ItemRecord(
            parts[0], {ours: entry.get(theirs, "") for theirs, ours in TEXTS.items()}, audio=audio
        ),
        candidates=(
            CandidateRecord(str(entry.get("system") or f"{parts[1]}_{parts[2]}"), text=entry["candidate"]),
        ),
        judgments=judgments,
    )


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
    for index, (rating, said) in enumerate(zip(ratings, feedback, strict=True)):
        if rating is None and not said:
            continue  # a place nobody filled
        codes, remarks, unknown = _feedback(said, protocol)
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


def _feedback(said: Any, protocol: Protocol) -> tuple[tuple[str, ...], str, list[str]]:
    """Codes, the remarks beside them, and what looks like a code but is none."""
    entries = [said] if isinstance(said, str) else [str(part) for part in said or []]
    codes = [entry.strip().upper() for entry in entries if entry.strip().upper() in protocol.code_keys]
    others = [
        entry.strip()
        for entry in entries
        if entry.strip().upper() not in protocol.code_keys and entry.strip()
    ]
    unknown = [entry for entry in others if len(entry) <= 2]
    return tuple(sorted(set(codes))), "\n".join(entry for entry in others if len(entry) > 2), unknown
