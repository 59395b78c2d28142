"""Export formats: a module each, and a line in this dictionary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from analytics.exporters import csv, jsonl, label_studio
from annotation import protocols

Lines = Callable[[Iterable[dict[str, Any]]], Iterator[str]]


@dataclass(frozen=True)
class Exporter:
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
class TaskExporter:
    """Formats of tasks with what was said of each: the lines of each file, by its name. `refused` is a sentence where a
    protocol cannot be written so."""

    files: TaskFiles
    refused: Callable[[protocols.Protocol], str]


@dataclass(frozen=True)
class TableExporter:
    """Formats of the tables that releases are made of, written as the database sends them: no row of them is a record
    here."""

    extension: str


EXPORTERS: dict[str, Exporter | TaskExporter | TableExporter] = {
    "jsonl": Exporter("jsonl", jsonl.lines, jsonl.lines, jsonl.lines, jsonl.lines, jsonl.lines),
    "csv": Exporter(
        "csv", csv.answer_lines, csv.candidate_lines, csv.check_lines, csv.correction_lines, csv.case_lines
    ),
    "parquet": TableExporter("parquet"),
    "label-studio": TaskExporter(label_studio.files, label_studio.refused),
}
