"""The layout of Audiobox Aesthetics' released ratings (arXiv 2502.05139): JSONL, one clip per line.

    {"data_path": "/your_path/PAM/human_eval/audio/audiogen_m/x.wav", "Production_Quality": [8.0, 7.0, …],
     "Production_Complexity": […], "Content_Enjoyment": […], "Content_Usefulness": […]}

The folder that a clip lies in names its system; the folder above and the file's name its item: what other systems made
of the same text. Within a line, the same place of the four lists is one person's; across lines it is nobody's: each
place becomes the judgment of an unnamed rater. `item` and `system` may be added where the folders say something else.

The release names its sounds without having them. When one of them lies below the file, all must.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from annotation.importing.formats import json_files, source_files
from annotation.importing.records import (
    AnswerRecord,
    CandidateRecord,
    ItemRecord,
    JudgmentRecord,
    RowProblem,
    TaskRecord,
)
from annotation.protocols import Protocol

AXES = {
    "Production_Quality": "production_quality",
    "Production_Complexity": "production_complexity",
    "Content_Enjoyment": "content_enjoyment",
    "Content_Usefulness": "content_usefulness",
}
# What stands in the release for wherever somebody has the sounds.
PLACEHOLDER = "/your_path/"


@dataclass(frozen=True)
class _Line:
    row: str
    values: dict[str, Any]

    @property
    def path(self) -> str:
        """Where the clip is, below the file."""
        return str(self.values.get("data_path") or "").removeprefix(PLACEHOLDER).lstrip("/")

    def problem(self, field: str, problem: str, remedy: str) -> RowProblem:
        return RowProblem(self.row, field, problem, remedy)


def read(
    source: Path, protocol: Protocol, column_map: Mapping[str, str]
) -> Iterator[TaskRecord | RowProblem]:
    has_sounds = source_files.any_audio_present(
        source.parent, (line.path for line in _lines(source) if isinstance(line, _Line))
    )
    for line in _lines(source):
        if isinstance(line, RowProblem):
            yield line
        else:
            outcome = _task(line, source.parent if has_sounds else None, protocol)
            yield from [outcome] if isinstance(outcome, TaskRecord) else outcome


def _lines(source: Path) -> Iterator[_Line | RowProblem]:
    """Read twice, rather than held: first for whether there are sounds."""
    for entry in json_files.json_lines(source):
        yield entry if isinstance(entry, RowProblem) else _Line(*entry)


def _task(line: _Line, folder: Path | None, protocol: Protocol) -> TaskRecord | list[RowProblem]:
    """`folder` is where the sounds are; None where there are none."""
    path = PurePosixPath(line.path)
    if not path.name:
        return [line.problem("data_path", "is missing", "Name the clip that was rated.")]
    system, group = str(line.values.get("system") or path.parent.name), path.parent.parent.name
    if not system:
        return [
            line.problem(
                "data_path", f"{path} lies in no folder that names a system", "Add `system` to the line."
            )
        ]
    audio = source_files.resolve_audio(folder, line.path, row=line.row, field="data_path") if folder else None
    judgments, problems = _judgments(line, protocol)
    if isinstance(audio, RowProblem):
        problems.append(audio)
    if problems or isinstance(audio, RowProblem):
        return problems
    item = str(line.values.get("item") or "/".join(filter(None, (group, path.stem))))
    return TaskRecord(
        row=line.row,
        external_id=line.path,
        item=ItemRecord(item, strata={"group": group} if group else {}),
        candidates=(CandidateRecord(system, audio=audio, column="data_path"),),
        judgments=judgments,
    )


def _judgments(line: _Line, protocol: Protocol) -> tuple[list[JudgmentRecord], list[RowProblem]]:
    """A judgment per place of the lists; null is an axis that somebody left out, or nobody."""
    lists, problems = {}, []
    for field, key in AXES.items():
        ratings = line.values.get(field)
        if not isinstance(ratings, list):
            problems.append(
                line.problem(field, "is not a list of ratings", "Give one number, or null, per rater.")
            )
            continue
        lists[key] = ratings
        problems += _off_scale(line, field, ratings, protocol)
    if not problems and len({len(ratings) for ratings in lists.values()}) > 1:
        counts = ", ".join(str(len(ratings)) for ratings in lists.values())
        remedy = "Give every axis one entry per rater, null where there is no rating."
        problems.append(line.problem(", ".join(AXES), f"have {counts} ratings", remedy))
    if problems:
        return [], problems
    people = enumerate(zip(*lists.values(), strict=True))
    judgments = [
        JudgmentRecord(f"#{place}", line.row, answers=answers)
        for place, ratings_of_person in people
        if (answers := _answers(lists, ratings_of_person))
    ]
    return judgments, []


def _answers(axes: Mapping[str, Any], ratings: tuple[Any, ...]) -> tuple[AnswerRecord, ...]:
    return tuple(
        AnswerRecord(key, value=float(rating))
        for key, rating in zip(axes, ratings, strict=True)
        if rating is not None
    )


def _off_scale(line: _Line, field: str, ratings: list[Any], protocol: Protocol) -> Iterator[RowProblem]:
    question = protocol.question(AXES[field])
    if question is None:
        yield line.problem(field, "is not asked by the study's protocol", "Use the aes protocol.")
        return
    for place, rating in enumerate(ratings):
        if rating is not None and (isinstance(rating, bool) or rating not in question.values):
            scale = f"{question.values[0]:g} to {question.values[-1]:g}, in whole steps"
            remedy = "Mend the rating, or use null."
            yield line.problem(f"{field}[{place}]", f"{rating!r} is not on the scale {scale}", remedy)
