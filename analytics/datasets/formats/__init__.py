"""Export formats: records as JSON Lines or CSV, tables as Parquet, tasks as Label Studio takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from analytics.datasets.formats import label_studio
from analytics.datasets.values import Record
from annotation import protocols

# The formats.


@dataclass(frozen=True)
class RecordFormat:
    """The tables of `record_tables`, a file each: `judgments.EXTENSION` and so on."""

    extension: str


@dataclass(frozen=True)
class TaskFormat:
    """Formats of tasks with what was said of each: from a protocol, tasks and the most candidates that one has, the
    lines of each file, by its name. `refused` is a sentence where a protocol cannot be written so."""

    files: Callable[[protocols.Protocol, Iterable[Record], int], Mapping[str, Iterator[str]]]
    refused: Callable[[protocols.Protocol], str]


class TableFormat:
    """The tables that releases are made of, written as the database sends them: no row of them is a record here."""


EXPORT_FORMATS: dict[str, RecordFormat | TaskFormat | TableFormat] = {
    "jsonl": RecordFormat("jsonl"),
    "csv": RecordFormat("csv"),
    "parquet": TableFormat(),
    "label-studio": TaskFormat(label_studio.label_studio_files, label_studio.label_studio_refusal),
}
