"""Formats that studies come in. One module each; all turn a source into the same records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from annotation.importers import aes, cmi_pref, columns, fense, orca, table
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
    # What columns can be mapped to; empty where the format's columns are fixed.
    fields: tuple[str, ...] = ()
    takes_folder: bool = False


FORMATS = {
    "orca": Format(
        "ORCA: JSON files of questions, answers and individual ratings",
        orca.read,
        protocol="orca",
        takes_folder=True,
    ),
    "cmi-pref": Format(
        "CMI-Pref: JSONL, one vote per line, audio beside it", cmi_pref.read, protocol="cmi-pref"
    ),
    "fense": Format(
        "FENSE: JSON files of caption pairs with their votes",
        fense.read,
        protocol="fense",
        takes_folder=True,
    ),
    "aes": Format(
        "Audiobox Aesthetics: JSONL, one clip per line with its ratings on four axes",
        aes.read,
        protocol="aes",
    ),
    "csv": Format("CSV: one answer per row", table.read_csv, fields=columns.FIELDS),
    "jsonl": Format("JSONL: one answer per line", table.read_jsonl, fields=columns.FIELDS),
}

__all__ = ["FORMATS", "Format", "RowProblem", "TaskRecord"]
