"""What a format's reader makes of a source, by kind of entry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from annotation.importing.formats import FORMATS
from annotation.importing.records import Note, RowProblem, TaskRecord
from annotation.protocols import preset
from tests.annotation.importing.importing import merge_fragments


def read(format: str, path: Path, protocol: str, *, merged: bool = False, **column_map: str) -> list[Any]:
    """`merged`: with the fragments of each task in one record, as an import merges them."""
    entries = FORMATS[format].read(path, preset(protocol), column_map)
    return list(merge_fragments(entries) if merged else entries)


def tasks(entries: list[Any]) -> list[TaskRecord]:
    return [entry for entry in entries if isinstance(entry, TaskRecord)]


def notes(entries: list[Any]) -> list[str]:
    return [entry.text for entry in entries if isinstance(entry, Note)]


def faults(entries: list[Any]) -> list[RowProblem]:
    return [entry for entry in entries if isinstance(entry, RowProblem)]


def problems(entries: list[Any]) -> list[tuple[str, str]]:
    """Row and field of each."""
    return [(fault.row, fault.field) for fault in faults(entries)]
