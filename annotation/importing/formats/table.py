"""Plain tables: CSV, TSV, JSON, JSONL and Parquet, one row per answer, or per task without answers.

The columns are in docs/import.md. Rows with the same item and candidates are one task; of those, rows with the same
rater are one judgment. Without a rater, a row that answers a question again begins the judgment of the next unnamed
rater.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.importing.formats import (
    columns,
    csv_files,
    folders,
    json_files,
    parquet_files,
)
from annotation.importing.formats.columns import (
    FIELDS,
    ITEM_TEXTS,
    STRATUM_COLUMN,
    Cells,
    read_answer,
    read_cell,
    read_codes,
)
from annotation.importing.formats.source_files import ReadPosition
from annotation.importing.records import (
    PARTIAL,
    Audio,
    CandidateRecord,
    DefaultText,
    ItemRecord,
    JudgmentRecord,
    Note,
    PackedAudio,
    RowProblem,
    TaskRecord,
    task_name,
    text_digest,
)
from annotation.protocols import Protocol

RowEntries = Iterator[tuple[str, dict[str, Any]] | RowProblem]
Entries = Iterator[TaskRecord | RowProblem | Note]
# The rows of each kind of table: a mapping of columns is tried on them, and its page shows the first.
TABLE_READERS: dict[str, Callable[..., RowEntries]] = {
    "csv": csv_files.csv_rows,
    "tsv": csv_files.tsv_rows,
    "jsonl": json_files.json_lines,
    "json": json_files.json_rows,
    "parquet": parquet_files.parquet_rows,
    "audiofolder": folders.audio_folder_rows,
    "huggingface": folders.hugging_face_rows,
}
# Tables of lines, whose reading can resume in the middle; tables that a protocol's pairing of sounds can make.
RESUMABLE, PAIRED = ("csv", "tsv", "jsonl"), ("audiofolder", "huggingface")
# What the values of a column are, as a later import compares it.
KINDS_BY_TYPE: dict[type, str] = {
    **dict.fromkeys((bool, str, DefaultText), "text"),
    **dict.fromkeys((int, float), "number"),
    list: "list",
    dict: "object",
    bytes: "bytes",
}


def table_reader(kind: str) -> Callable[..., Entries]:
    """The reader of a kind of table, a key of TABLE_READERS."""

    def read(
        source: Path, protocol: Protocol, column_map: Mapping[str, str], place: ReadPosition | None = None
    ) -> Entries:
        place = place or ReadPosition()
        more = [place] if kind in RESUMABLE else [protocol] if kind in PAIRED else []
        rows = TABLE_READERS[kind](source, *more)
        yield from read_rows(rows, folders.source_folder(source), protocol, column_map, place)
        if kind == "huggingface" and (others := folders.unread_configurations(source)):
            yield Note(
                f"One configuration was read; to read {', '.join(others)[:200]}, name its folder or file."
            )

    return read


def read_rows(
    rows: RowEntries,
    folder: Path,
    protocol: Protocol,
    column_map: Mapping[str, str],
    place: ReadPosition | None = None,
) -> Iterator[TaskRecord | RowProblem]:
    """Tasks of rows that are named as the table's fields are, a fragment per row; other formats are read through it as
    well."""
    place = place or ReadPosition()
    reader = _Reader(protocol, folder, column_map, place)
    for entry in rows:
        if isinstance(entry, RowProblem):
            yield entry
        else:
            yield from reader.read(*entry)
    for column in sorted(set(column_map) - place.columns.keys()):
        yield RowProblem("", column, "is mapped but not there", "Is its name spelled as in the source?")


@dataclass
class _Reader:
    """Reads one row: its cells, its task, its judgment."""

    protocol: Protocol
    folder: Path
    column_map: Mapping[str, str]
    place: ReadPosition

    def read(self, row: str, entry: dict[str, Any]) -> Iterator[TaskRecord | RowProblem]:
        self._note_columns(entry)
        cells, unknown = self._cells(row, entry)
        yield from unknown
        # All of a row or nothing: what is wrong in it is not the same as empty.
        record = None if cells.problems else self._task(cells)
        yield from cells.problems or filter(None, [record])

    def _note_columns(self, entry: Mapping[str, Any]) -> None:
        """The columns there are, each with the kind of value that it mostly holds: numbers pass for texts."""
        known = self.place.columns
        changed = {
            column: _kind(known.get(column, ""), value)
            for column, value in entry.items()
            if column not in known or known[column] != KINDS_BY_TYPE.get(type(value), known[column])
        }
        if changed:
            self.place.columns = {**known, **changed}

    def _cells(self, row: str, entry: dict[str, Any]) -> tuple[Cells, list[RowProblem]]:
        """The row's values, and the columns that nothing is known of, each reported once."""
        values: dict[str, str | Audio] = {}
        unknown: list[RowProblem] = []
        cells = Cells(row, values)
        for column, value in entry.items():
            name = self.column_map.get(column, column).strip()
            if name and name not in FIELDS and not STRATUM_COLUMN.match(name):
                if column not in self.place.reported:
                    remedy = (
                        f'Map it to a field (--map "{column}=FIELD") or leave it out (--map "{column}=").'
                    )
                    unknown.append(RowProblem(row, column, "is not a column known here", remedy))
                    self.place.reported = (*self.place.reported, column)
            elif name in values and (others := self._others(column, name, entry)):
                remedy = f'Leave one of them out (--map "{column}=").'
                cells.report(column, f"is read as {name}, and so is {others[0]}", remedy)
            elif name:
                cell = read_cell(row, column, value)
                if isinstance(cell, RowProblem):
                    cells.problems.append(cell)
                else:
                    values[name] = cell
        return cells, unknown

    def _others(self, column: str, name: str, entry: Mapping[str, Any]) -> list[str]:
        """The columns besides this one that are read as the same field."""
        columns = (other for other in entry if self.column_map.get(other, other).strip() == name)
        return [other for other in columns if other != column and not isinstance(entry[other], DefaultText)]

    def _task(self, cells: Cells) -> TaskRecord | None:
        if not cells["item_id"]:
            cells.report("item_id", "is missing", "Give every row the id of its item.")
            return None
        listed, audio = columns.read_candidates(cells, self.protocol, self.folder)
        if cells.problems:
            return None
        order = sorted(
            range(len(listed)), key=lambda p: (listed[p].system, str(listed[p].audio or ""), listed[p].text)
        )
        candidates = tuple(listed[position] for position in order)
        item = ItemRecord(
            cells["item_id"],
            {ours: cells[theirs] for theirs, ours in ITEM_TEXTS.items()},
            audio.get("reference_audio"),
            audio.get("item_audio"),
            {
                match[1]: cells[name]
                for name in cells.values
                if (match := STRATUM_COLUMN.match(name)) and cells[name]
            },
        )
        names = [_candidate_name(candidate, self.folder) for candidate in candidates]
        judgments = list(self._judgments(cells, order))
        return TaskRecord(cells.row, task_name(item.external_id, names), item, candidates, judgments)

    def _judgments(self, cells: Cells, order: list[int]) -> Iterator[JudgmentRecord]:
        """What this one row says, if anything; rows of one judgment are merged afterwards."""
        if not any(cells[name] for name in ("question", "value", "codes", "comment")):
            return
        if self.protocol.repeats_a_sound:
            remedy = "Import the trials alone: whoever answers them hears what this import makes."
            cells.report("value", "a table cannot say which clip was hidden", remedy)
            return
        letters = [end[1:] for end in columns.candidate_suffixes(cells, self.protocol)]
        answer = read_answer(cells, self.protocol, order, sides=letters)
        codes = read_codes(cells, self.protocol)
        yield JudgmentRecord(
            PARTIAL,
            cells.row,
            cells["rater_id"],
            (answer,) if answer else (),
            codes,
            cells["comment"],
            tuple(order.index(position) for position in range(len(order))),
        )


def _candidate_name(candidate: CandidateRecord, folder: Path) -> str:
    """Two answers of one system to one item are two tasks: the text is part of the name, as a digest."""
    digest = text_digest(candidate.text) if candidate.text else ""
    return ":".join(filter(None, (candidate.system, _sound_name(candidate.audio, folder), digest)))


def _sound_name(audio: Audio | None, folder: Path) -> str:
    """A sound's place below the source's folder, or its address: the same wherever the source lies."""
    match audio:
        case None:
            return ""
        case Path():
            return str(audio.relative_to(folder.resolve()))
        case PackedAudio(file, row, column):
            return f"{file.resolve().relative_to(folder.resolve())}#{row}:{column}"
        case _:
            return audio.address


def _kind(known_kind: str, value: Any) -> str:
    kind = KINDS_BY_TYPE.get(type(value), "")
    return kind if known_kind in ("", kind) else known_kind if not kind else "text"
