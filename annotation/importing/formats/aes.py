"""The layout of Audiobox Aesthetics' released ratings (arXiv 2502.05139): JSONL, one clip per line.

    {"data_path": "/your_path/PAM/human_eval/audio/audiogen_m/x.wav", "Production_Quality": [8.0, 7.0, …],
     "Production_Complexity": […], "Content_Enjoyment": […], "Content_Usefulness": […]}

The folder that a clip lies in names its system; the folder above and the file's name its item: what other systems made
of the same text. Within a line, the same place of the four lists is one person's; across lines it is nobody's: each
place becomes the judgment of an unnamed rater. `item` and `system` may be added where the folders say something else.

The release names its sounds without having them. When one of them lies below the file, all must.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from annotation.importing.formats import json_files, source_files
from annotation.importing.formats.source_files import SourceRow, read_records
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


def read(
    source: Path, protocol: Protocol, column_map: Mapping[str, str]
) -> Iterator[TaskRecord | RowProblem]:
    # Read twice, rather than held: first for whether there are sounds.
    entries = json_files.json_lines(source)
    paths = (_path(entry[1]) for entry in entries if not isinstance(entry, RowProblem))
    folder = source.parent if source_files.any_audio_present(source.parent, paths) else None
    return read_records(json_files.json_lines(source), lambda line: _task(line, folder, protocol))


def _path(values: Mapping[str, Any]) -> str:
    """Where the clip is, below the file."""
    return str(values.get("data_path") or "").removeprefix(PLACEHOLDER).lstrip("/")


def _task(line: SourceRow, folder: Path | None, protocol: Protocol) -> TaskRecord | None:
    """`folder` is where the sounds are; None where there are none."""
    name = _path(line.values)
    path = PurePosixPath(name)
    system, group = str(line.values.get("system") or path.parent.name), path.parent.parent.name
    if not path.name:
        line.report("data_path", "is missing", "Name the clip that was rated.")
        return None
    if not system:
        problem = f"{path} lies in no folder that names a system"
        line.report("data_path", problem, "Add `system` to the line.")
        return None
    judgments = _judgments(line, protocol)
    audio = line.audio(folder, name, "data_path") if folder else None
    item = str(line.values.get("item") or "/".join(filter(None, (group, path.stem))))
    return TaskRecord(
        row=line.row,
        external_id=name,
        item=ItemRecord(item, strata={"group": group} if group else {}),
        candidates=(CandidateRecord(system, audio=audio, column="data_path"),),
        judgments=judgments,
    )


def _judgments(line: SourceRow, protocol: Protocol) -> list[JudgmentRecord]:
    """A judgment per place of the lists; null is an axis that somebody left out, or nobody."""
    lists: dict[str, list[Any]] = {}
    for field, key in AXES.items():
        ratings = line.values.get(field)
        if isinstance(ratings, list):
            lists[key] = ratings
            _check_scale(line, field, ratings, protocol)
        else:
            line.report(field, "is not a list of ratings", "Give one number, or null, per rater.")
    if not line.problems and len({len(ratings) for ratings in lists.values()}) > 1:
        counts = ", ".join(str(len(ratings)) for ratings in lists.values())
        remedy = "Give every axis one entry per rater, null where there is no rating."
        line.report(", ".join(AXES), f"have {counts} ratings", remedy)
    if line.problems:
        return []
    return [
        JudgmentRecord(f"#{place}", line.row, answers=answers)
        for place, ratings_of_person in enumerate(zip(*lists.values(), strict=True))
        if (answers := _answers(lists, ratings_of_person))
    ]


def _answers(axes: Iterable[str], ratings: tuple[Any, ...]) -> tuple[AnswerRecord, ...]:
    return tuple(
        AnswerRecord(key, value=float(rating))
        for key, rating in zip(axes, ratings, strict=True)
        if rating is not None
    )


def _check_scale(line: SourceRow, field: str, ratings: list[Any], protocol: Protocol) -> None:
    question = protocol.question(AXES[field])
    if question is None:
        line.report(field, "is not asked by the study's protocol", "Use the aes protocol.")
        return
    for place, rating in enumerate(ratings):
        if rating is not None and (isinstance(rating, bool) or rating not in question.values):
            scale = f"{question.values[0]:g} to {question.values[-1]:g}, in whole steps"
            problem = f"{rating!r} is not on the scale {scale}"
            line.report(f"{field}[{place}]", problem, "Mend the rating, or use null.")
