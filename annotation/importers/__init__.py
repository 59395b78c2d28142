"""Formats that studies come in. One module each; all turn a source into the same records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from annotation.importers import cmi_pref, orca, table
from annotation.importers.records import RowProblem, TaskRecord
from annotation.protocols import Protocol

Reader = Callable[[Path, Protocol, Mapping[str, str]], Iterator[TaskRecord | RowProblem]]


@dataclass(frozen=True)
class Format:
    """`read(source, protocol, column_map)` yields records and problems in the order of the source."""

    title: str
    read: Reader
    # The preset that goes without saying; empty where the study or the caller must name one.
    protocol: str = ""
    takes_column_map: bool = False


FORMATS = {
    "orca": Format(
        "ORCA: JSON files of questions, answers and individual ratings", orca.read, protocol="orca"
    ),
    "cmi-pref": Format(
        "CMI-Pref: JSONL, one vote per line, audio beside it", cmi_pref.read, protocol="cmi-pref"
    ),
    "csv": Format("CSV: one answer per row", table.read_csv, takes_column_map=True),
    "jsonl": Format("JSONL: one answer per line", table.read_jsonl, takes_column_map=True),
}

__all__ = ["FORMATS", "Format", "RowProblem", "TaskRecord"]
