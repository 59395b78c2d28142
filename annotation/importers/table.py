"""Plain CSV and JSONL: one row per answer, or per task where nothing was answered yet. Columns: docs/import.md.

Rows with the same item and candidates are one task; of those, rows with the same rater are one judgment. Without a
rater, a row that answers a question anew begins the judgment of the next unnamed rater.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from annotation.importers import files
from annotation.importers.cells import Cells, read_answer, read_codes
from annotation.importers.records import (
    CandidateRecord,
    ItemRecord,
    JudgmentRecord,
    RowProblem,
    TaskRecord,
)
from annotation.protocols import Protocol

ITEM_TEXTS = {
    "prompt": "prompt",
    "lyrics": "lyrics",
    "question_text": "question",
    "reference": "reference",
    "rationale": "rationale",
    "transcript": "transcript",
}
SINGLE = ("system", "answer", "audio")
PAIRED = tuple(f"{name}_{side}" for name in SINGLE for side in "ab")
ANSWERS = ("rater_id", "question", "value", "confidence", "codes", "comment")
FIELDS = ("item_id", *ITEM_TEXTS, *SINGLE, *PAIRED, "item_audio", "reference_audio", *ANSWERS)
STRATUM = re.compile(r"stratum\.(\w{1,40})\Z")


def read_csv(
    source: Path, protocol: Protocol, column_map: Mapping[str, str]
) -> Iterator[TaskRecord | RowProblem]:
    return _read(_csv_rows(source), source.parent, protocol, column_map)


def read_jsonl(
    source: Path, protocol: Protocol, column_map: Mapping[str, str]
) -> Iterator[TaskRecord | RowProblem]:
    return _read(files.json_lines(source), source.parent, protocol, column_map)


def _csv_rows(source: Path) -> Iterator[tuple[str, dict[str, Any]] | RowProblem]:
    problems: list[RowProblem] = []

    def text() -> Iterator[str]:
        for line in files.lines(source):
            if isinstance(line, RowProblem):
                problems.append(line)
            else:
                yield line[1]

    reader = csv.reader(text(), strict=True)
    try:
        header = next(reader, None)
        if header is None:
            yield RowProblem("1", "", "the file is empty", "Write a header line and a row per answer.")
        for cells in reader if header else ():
            row = str(reader.line_num)
            if len(cells) != len(header or ()):
                yield RowProblem(
                    row,
                    "",
                    f"has {len(cells)} cells, the header has {len(header or ())}",
                    "Quote cells that hold commas.",
                )
            elif any(cells):
                yield row, dict(zip(header or (), cells, strict=True))
    except csv.Error as error:
        yield RowProblem(
            str(reader.line_num), "", f"is not CSV: {error}", "Quote cells that hold quotes or line breaks."
        )
    yield from problems


def _read(
    rows: Iterator[tuple[str, dict[str, Any]] | RowProblem],
    folder: Path,
    protocol: Protocol,
    column_map: Mapping[str, str],
) -> Iterator[TaskRecord | RowProblem]:
    book = _Book(protocol, folder, column_map)
    for entry in rows:
        yield from [entry] if isinstance(entry, RowProblem) else book.add(*entry)
    yield from book.tasks.values()


@dataclass
class _Book:
    """The tasks found so far, and each task's judgments by rater."""

    protocol: Protocol
    folder: Path
    column_map: Mapping[str, str]
    tasks: dict[str, TaskRecord] = field(default_factory=dict)
    _columns_told: set[str] = field(default_factory=set)

    def add(self, row: str, entry: dict[str, Any]) -> list[RowProblem]:
        cells, problems = self._cells(row, entry)
        found = self._task(cells)
        if isinstance(found, list):
            return problems + found
        record, order = found
        known = self.tasks.get(record.external_id)
        if known is not None and known.item != record.item:
            remedy = "Give it another item_id, or make its texts the same on every row."
            return [*problems, RowProblem(row, "item_id", f"differs in content from row {known.row}", remedy)]
        judgment, faults = self._judgment(cells, order)
        if faults:
            return problems + faults
        record = self.tasks.setdefault(record.external_id, record)
        if judgment is not None and (fault := _merge(record, judgment)):
            return [*problems, fault]
        return problems

    def _cells(self, row: str, entry: dict[str, Any]) -> tuple[Cells, list[RowProblem]]:
        values, problems = {}, []
        for column, value in entry.items():
            name = self.column_map.get(column, column).strip()
            if name and name not in FIELDS and not STRATUM.match(name):
                if column not in self._columns_told:
                    remedy = (
                        f'Map it to a field (--map "{column}=FIELD") or leave it out (--map "{column}=").'
                    )
                    problems.append(RowProblem(row, column, "is not a column known here", remedy))
                    self._columns_told.add(column)
            elif name:
                values[name] = "" if value is None else str(value).strip()
        return Cells(row, values), problems

    def _task(self, cells: Cells) -> tuple[TaskRecord, list[int]] | list[RowProblem]:
        """The row's task, and the order its candidates were put in, or what is wrong with them."""
        if not cells["item_id"]:
            return [cells.problem("item_id", "is missing", "Give every row the id of its item.")]
        sides = ["_a", "_b"] if self.protocol.layout == "comparison" else [""]
        audio = {
            name: self._file(cells, name)
            for name in ("reference_audio", "item_audio", *(f"audio{s}" for s in sides))
        }
        problems = [path for path in audio.values() if isinstance(path, RowProblem)]
        paths = {name: path for name, path in audio.items() if isinstance(path, Path)}
        if self.protocol.candidate == "text" and "audio" in paths:
            paths["item_audio"] = paths.pop("audio")  # one text is judged: the audio is what it is about
        shown = []
        for side in sides:
            if not cells[f"system{side}"]:
                problems.append(
                    cells.problem(
                        f"system{side}", "is missing", "Name what made the candidate; raters never see it."
                    )
                )
            if (
                self.protocol.candidate == "clip"
                and f"audio{side}" not in paths
                and not isinstance(audio[f"audio{side}"], RowProblem)
            ):
                problems.append(
                    cells.problem(
                        f"audio{side}", "is missing", "Name the clip's file, relative to the source."
                    )
                )
            shown.append(
                CandidateRecord(cells[f"system{side}"], cells[f"answer{side}"], paths.get(f"audio{side}"))
            )
        if problems:
            return problems
        order = sorted(
            range(len(shown)), key=lambda p: (shown[p].system, str(shown[p].audio or ""), shown[p].text)
        )
        candidates = tuple(shown[position] for position in order)
        names = [f"{c.system}:{c.audio.name if c.audio else ''}" for c in candidates]
        item = ItemRecord(
            cells["item_id"],
            {ours: cells[theirs] for theirs, ours in ITEM_TEXTS.items()},
            paths.get("reference_audio"),
            paths.get("item_audio"),
            {
                match[1]: value
                for name, value in cells.values.items()
                if (match := STRATUM.match(name)) and value
            },
        )
        external_id = " | ".join([item.external_id, *names])[:300]
        return TaskRecord(cells.row, external_id, item, candidates), order

    def _file(self, cells: Cells, name: str) -> Path | RowProblem | None:
        return files.beside(self.folder, cells[name], row=cells.row, field=name) if cells[name] else None

    def _judgment(self, cells: Cells, order: list[int]) -> tuple[JudgmentRecord | None, list[RowProblem]]:
        """What this one row says; rows of one judgment are merged afterwards."""
        if not any(cells[name] for name in ("question", "value", "codes", "comment")):
            return None, []
        answer, problems = read_answer(cells, self.protocol, order)
        codes, faults = read_codes(cells, self.protocol)
        if problems or faults:
            return None, problems + faults
        presentation = tuple(order.index(position) for position in range(len(order)))
        judgment = JudgmentRecord(
            cells["rater_id"],
            cells.row,
            cells["rater_id"],
            (answer,) if answer else (),
            codes,
            cells["comment"],
            presentation,
        )
        return judgment, []


def _merge(record: TaskRecord, judgment: JudgmentRecord) -> RowProblem | None:
    """Add a row's part to the judgment it belongs to."""
    asked = {(answer.question, answer.slot) for answer in judgment.answers}
    for index, earlier in enumerate(record.judgments):
        if earlier.rater != judgment.rater:
            continue
        if asked & {(answer.question, answer.slot) for answer in earlier.answers}:
            if judgment.rater:
                remedy = "Keep one answer per rater, task and question."
                return RowProblem(
                    judgment.row,
                    "rater_id",
                    f"{judgment.rater} answered this on row {earlier.row} before",
                    remedy,
                )
            continue
        record.judgments[index] = replace(
            earlier,
            answers=earlier.answers + judgment.answers,
            codes=tuple(sorted({*earlier.codes, *judgment.codes})),
            comment="\n".join(dict.fromkeys(filter(None, (earlier.comment, judgment.comment)))),
        )
        return None
    key = judgment.key or f"#{sum(1 for earlier in record.judgments if not earlier.rater)}"
    record.judgments.append(replace(judgment, key=key))
    return None
