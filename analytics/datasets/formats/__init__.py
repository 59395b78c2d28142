"""Export formats: a module each, and a line in this dictionary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from analytics.datasets.formats import csv_jsonl, label_studio
from analytics.datasets.values import Record
from annotation import protocols

Lines = Callable[[Iterable[Record]], Iterator[str]]


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
    "jsonl": RecordFormat("jsonl", dict.fromkeys(csv_jsonl.CSV_LINES, csv_jsonl.json_lines)),
    "csv": RecordFormat("csv", csv_jsonl.CSV_LINES),
    "parquet": TableFormat(),
    "label-studio": TaskFormat(label_studio.label_studio_files, label_studio.label_studio_refusal),
}
