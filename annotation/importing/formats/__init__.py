"""The registry of import formats. One module each; all turn a source into the same records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from annotation.importing.formats import (
    aes,
    cmi_pref,
    columns,
    fense,
    label_studio,
    orca,
    potato,
    tool_exports,
)
from annotation.importing.formats.table import (
    OPTIONS_OF_KIND,
    EncodedEntries,
    Entries,
    table_reader,
)
from annotation.importing.records import Note, RowProblem, TaskRecord

# (source, protocol, column map), `how` to read it where the format has reading options.
Reader = Callable[..., Entries]
# The same with the ReadPosition to begin at; with `encoded` where the format has reading options.
ResumableReader = Callable[..., EncodedEntries]


@dataclass(frozen=True)
class Format:
    """`read(source, protocol, column_map)` yields records and problems in the order of the source, and notes."""

    title: str
    read: Reader
    # The preset that goes without saying; empty where the study or the caller must name one.
    protocol: str = ""
    # What columns can be mapped to; empty where the format's columns are fixed.
    fields: tuple[str, ...] = ()
    # How the columns begin that are mapped to questions of the study's protocol; the reader knows which there are.
    control_prefix: str = ""
    accepts_folder: bool = False
    # The reading options that have a use here; the reader takes them as `how`.
    options: tuple[str, ...] = ()
    # The same reader, which begins at a place, and moves it, and notes there which columns it meets.
    read_resumable: ResumableReader | None = None


def _table(kind: str, title: str, *, accepts_folder: bool = False) -> Format:
    read = table_reader(kind)
    return Format(
        title,
        read,
        fields=columns.FIELDS,
        accepts_folder=accepts_folder,
        options=OPTIONS_OF_KIND[kind],
        read_resumable=read,
    )


FORMATS = {
    "orca": Format(
        "ORCA: JSON files of questions, answers and individual ratings",
        orca.read,
        protocol="orca",
        accepts_folder=True,
    ),
    "cmi-pref": Format(
        "CMI-Pref: JSONL, one vote per line, audio beside it",
        cmi_pref.read,
        protocol="cmi-pref",
        read_resumable=cmi_pref.read,
    ),
    "fense": Format(
        "FENSE: JSON files of caption pairs with their votes",
        fense.read,
        protocol="fense",
        accepts_folder=True,
    ),
    "aes": Format(
        "Audiobox Aesthetics: JSONL, one clip per line with its ratings on four axes",
        aes.read,
        protocol="aes",
    ),
    "csv": _table("csv", "CSV: one answer per row"),
    "jsonl": _table("jsonl", "JSONL: one answer per line"),
    "json": _table("json", "JSON: a list of objects, one answer each"),
    "parquet": _table("parquet", "Parquet: one answer per row"),
    "audiofolder": _table(
        "audiofolder",
        "AudioFolder: sounds with metadata.csv or .jsonl, or one folder of sounds per system",
        accepts_folder=True,
    ),
    "huggingface": _table(
        "huggingface",
        "Hugging Face: a dataset folder, its sounds in Parquet or beside",
        accepts_folder=True,
    ),
    "tsv": _table("tsv", "TSV: one answer per row, tabs between"),
    "xlsx": _table("xlsx", "Excel workbook (.xlsx): one answer per row of a sheet"),
    "label-studio": Format(
        "Label Studio: JSON or JSON_MIN, tasks with their annotations",
        label_studio.read,
        fields=columns.FIELDS,
        control_prefix=tool_exports.CONTROL_PREFIX,
    ),
    "potato": Format(
        "POTATO: a project's folder with its data and annotation_output",
        potato.read,
        fields=columns.FIELDS,
        control_prefix=tool_exports.CONTROL_PREFIX,
        accepts_folder=True,
    ),
}

__all__ = ["FORMATS", "Format", "Note", "RowProblem", "TaskRecord"]
