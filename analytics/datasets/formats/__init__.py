"""Export formats: records as JSON Lines or CSV, tables as Parquet, tasks as Label Studio takes them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from analytics.datasets.formats import label_studio
from analytics.datasets.values import Record
from annotation import protocols
from annotation.csv_escaping import escape_formula

Lines = Callable[[Iterable[Record]], Iterator[str]]

# CSV: one row per answer, candidate of an item version, listening check, correction, case and skipped task. Codes
# are joined by semicolons, as the plain import takes them; other lists and tables are cells of JSON.

_JUDGMENT = (
    "study", "item", "item_version", "task", "task_kind", "systems", "takes", "roles", "presentation", "client_id",
    "rater", "origin", "revision", "effective", "excluded", "exclusion_reason", "surplus", "protocol_version", "preset",
    "codes", "comment", "hint", "hint_shown", "ordering_policy", "inclusion_probability", "leased_at", "started_at",
    "submitted_at", "gains_db", "heard_s", "heard_item_s", "switches", "session_s", "rater_marks",
)  # fmt: skip
_ANSWER = (
    "question", "slot", "system", "choice", "choice_slot", "choice_shown", "value", "option", "options", "confidence",
    "text", "events",
)  # fmt: skip
_ITEM = (
    "study", "item", "state", "strata", "version", "current", "retracted", "prompt", "lyrics", "question", "reference",
    "rationale", "transcript", "extra",
)  # fmt: skip
_CHECK = ("study", "rater", "check", "passed", "n_correct", "n_trials", "started_at", "finished_at")
_CORRECTION = (
    "study", "item", "version_before", "version_after", "undone", "case", "field", "before", "after", "reason",
    "comment", "origin", "draft_writer", "draft_text", "draft_provenance", "author", "author_role", "corrected_at",
)  # fmt: skip
_CASE = (
    "study", "case", "item", "item_version", "task", "rules", "state", "decision", "comment", "expert", "expert_role",
    "blind_judgment", "blind_at", "opened_at", "claimed_at", "decided_at", "returns",
)  # fmt: skip
_SKIP = (
    "study", "item", "item_version", "task", "rater", "reason", "comment", "protocol_version", "leased_at",
    "skipped_at",
)  # fmt: skip
_CANDIDATE = ("system", "take", "text", "carried_from", "provenance")
_CODES = _JUDGMENT.index("codes")
_CLIP = ("sha256", "canonical_sha256", "seconds", "file")


def answer_lines(judgments: Iterable[Record]) -> Iterator[str]:
    """A judgment without answers, given by codes alone, has one row with the answer's cells empty."""
    yield _line((*_JUDGMENT, *_ANSWER))
    for judgment in judgments:
        shared = [judgment[name] for name in _JUDGMENT]
        shared[_CODES] = ";".join(judgment["codes"])
        for answer in judgment["answers"] or [{}]:
            yield _line((*shared, *(answer.get(name) for name in _ANSWER)))


def candidate_lines(items: Iterable[Record]) -> Iterator[str]:
    """An item version without candidates has one row with the candidate's cells empty."""
    clips = [f"{part}_{name}" for part in ("reference_clip", "clip", "candidate_clip") for name in _CLIP]
    of_item = 2 * len(_CLIP)
    yield _line((*_ITEM, *clips[:of_item], *_CANDIDATE, *clips[of_item:]))
    for item in items:
        shared = [*(item[name] for name in _ITEM), *_clip(item["reference_clip"]), *_clip(item["clip"])]
        for candidate in item["candidates"] or [{}]:
            own = [candidate.get(name) for name in _CANDIDATE]
            yield _line((*shared, *own, *_clip(candidate.get("clip"))))


def _rows(records: Iterable[Record], names: Sequence[str]) -> Iterator[str]:
    yield _line(names)
    for record in records:
        yield _line([record[name] for name in names])


def _clip(clip: Record | None) -> list[Any]:
    return [None] * len(_CLIP) if clip is None else [clip[name] for name in _CLIP]


def _line(cells: Sequence[Any]) -> str:
    buffer = io.StringIO(newline="")
    # Ends of line as in RFC 4180; with another, the writer leaves a lone carriage return in a cell unquoted.
    csv.writer(buffer, lineterminator="\r\n").writerow([_cell(cell) for cell in cells])
    return buffer.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return escape_formula(value)
    if isinstance(value, bool | list | dict):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    return value


_CSV_LINES: Mapping[str, Lines] = {
    "judgments": answer_lines,
    "items": candidate_lines,
    "checks": partial(_rows, names=_CHECK),
    "corrections": partial(_rows, names=_CORRECTION),
    "cases": partial(_rows, names=_CASE),
    "skips": partial(_rows, names=_SKIP),
}


# JSON Lines: one object per judgment with its answers inside, one per item version with its candidates,
# listening check, correction, review case and skipped task.


def json_lines(records: Iterable[Record]) -> Iterator[str]:
    for record in records:
        yield json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"


# The formats.


@dataclass(frozen=True)
class RecordFormat:
    """How records become the lines of `judgments.EXTENSION`, `items.EXTENSION` and so on, by these names."""

    extension: str
    lines: Mapping[str, Lines]


@dataclass(frozen=True)
class TaskFormat:
    """Formats of tasks with what was said of each: from a protocol, tasks and the most candidates that one has, the
    lines of each file, by its name. `refused` is a sentence where a protocol cannot be written so."""

    files: Callable[[protocols.Protocol, Iterable[Record], int], Mapping[str, Iterator[str]]]
    refused: Callable[[protocols.Protocol], str]


class TableFormat:
    """The tables that releases are made of, written as the database sends them: no row of them is a record here."""


EXPORT_FORMATS: dict[str, RecordFormat | TaskFormat | TableFormat] = {
    "jsonl": RecordFormat("jsonl", dict.fromkeys(_CSV_LINES, json_lines)),
    "csv": RecordFormat("csv", _CSV_LINES),
    "parquet": TableFormat(),
    "label-studio": TaskFormat(label_studio.label_studio_files, label_studio.label_studio_refusal),
}
