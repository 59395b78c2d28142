"""Export formats: a module each, and a line in this dictionary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from analytics.datasets.formats import csv_jsonl, label_studio
from annotation import protocols

Lines = Callable[[Iterable[dict[str, Any]]], Iterator[str]]


@dataclass(frozen=True)
class RecordFormat:
    """How records become the lines of `judgments.EXTENSION`, `items.EXTENSION` and so on."""

    extension: str
    judgments: Lines
    items: Lines
    checks: Lines
    corrections: Lines
    cases: Lines


class TaskFiles(Protocol):
    def __call__(
        self, protocol: protocols.Protocol, tasks: Iterable[dict[str, Any]], *, n_candidates: int
    ) -> Mapping[str, Iterator[str]]: ...


@dataclass(frozen=True)
class TaskFormat:
    """Formats of tasks with what was said of each: the lines of each file, by its name. `refused` is a sentence where a
    protocol cannot be written so."""

    files: TaskFiles
    refused: Callable[[protocols.Protocol], str]


@dataclass(frozen=True)
class TableFormat:
    """Formats of the tables that releases are made of, written as the database sends them: no row of them is a record
    here."""

    extension: str


EXPORT_FORMATS: dict[str, RecordFormat | TaskFormat | TableFormat] = {
    "jsonl": RecordFormat(
        "jsonl",
        csv_jsonl.json_lines,
        csv_jsonl.json_lines,
        csv_jsonl.json_lines,
        csv_jsonl.json_lines,
        csv_jsonl.json_lines,
    ),
    "csv": RecordFormat(
        "csv",
        csv_jsonl.answer_lines,
        csv_jsonl.candidate_lines,
        csv_jsonl.check_lines,
        csv_jsonl.correction_lines,
        csv_jsonl.case_lines,
    ),
    "parquet": TableFormat("parquet"),
    "label-studio": TaskFormat(label_studio.label_studio_files, label_studio.label_studio_refusal),
}
