"""Plain CSV and JSONL: one row per answer, or per task where nothing was answered yet. Columns: docs/import.md.

Rows with the same item and candidates are one task; of those, rows with the same rater are one judgment. Without a
rater, a row that answers a question anew begins the judgment of the next unnamed rater.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from annotation.importers import columns, files
from annotation.importers.cells import Cells, read_answer, read_codes
from annotation.importers.columns import FIELDS, ITEM_TEXTS, STRATUM
from annotation.importers.records import (
    CandidateRecord,
    ItemRecord,
    JudgmentRecord,
    RowProblem,
    TaskRecord,
    task_name,
)
from annotation.protocols import Protocol


def read_csv(
    source: Path, protocol: Protocol, column_map: Mapping[str, str]
) -> Iterator[TaskRecord | RowProblem]:
    return _read(files.csv_rows(source), source.parent, protocol, column_map)


def read_jsonl(
    source: Path, protocol: Protocol, column_map: Mapping[str, str]
) -> Iterator[TaskRecord | RowProblem]:
    return _read(files.json_lines(source), source.parent, protocol, column_map)


def _read(
    rows: Iterator[tuple[str, dict[str, Any]] | RowProblem],
    folder: Path,
    protocol: Protocol,
    column_map: Mapping[str, str],
) -> Iterator[TaskRecord | RowProblem]:
    book = _Book(protocol, folder, column_map)
    for entry in rows:
        yield from [entry] if isinstance(entry, RowProblem) else book.add(*entry)
    for column in sorted(set(column_map) - book.columns):
        yield RowProblem("", column, "is mapped but not there", "Is its name spelled as in the source?")
    yield from book.tasks.values()


@dataclass
class _Book:
    """The tasks found so far, and each task's judgments by rater."""

    protocol: Protocol
    folder: Path
    column_map: Mapping[str, str]
    tasks: dict[str, TaskRecord] = field(default_factory=dict)
    columns: set[str] = field(default_factory=set)
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
        self.columns |= entry.keys()
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
        found = columns.named(cells, self.protocol, self.folder)
        if isinstance(found, list):
            return found
        shown = found.candidates
        order = sorted(
            range(len(shown)), key=lambda p: (shown[p].system, str(shown[p].audio or ""), shown[p].text)
        )
        candidates = tuple(shown[position] for position in order)
        item = ItemRecord(
            cells["item_id"],
            {ours: cells[theirs] for theirs, ours in ITEM_TEXTS.items()},
            found.audio.get("reference_audio"),
            found.audio.get("item_audio"),
            {
                match[1]: value
                for name, value in cells.values.items()
                if (match := STRATUM.match(name)) and value
            },
        )
        names = [_candidate_name(candidate, self.folder) for candidate in candidates]
        external_id = task_name(item.external_id, names)
        return TaskRecord(cells.row, external_id, item, candidates), order

    def _judgment(self, cells: Cells, order: list[int]) -> tuple[JudgmentRecord | None, list[RowProblem]]:
        """What this one row says; rows of one judgment are merged afterwards."""
        if not any(cells[name] for name in ("question", "value", "codes", "comment")):
            return None, []
        if self.protocol.repeats_a_sound:
            remedy = "Import the trials alone: whoever answers them hears what this import makes."
            return None, [cells.problem("value", "a table cannot say which clip was hidden", remedy)]
        letters = [end[1:] for end in columns.sides(cells, self.protocol)]
        answer, problems = read_answer(cells, self.protocol, order, sides=letters)
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


def _candidate_name(candidate: CandidateRecord, folder: Path) -> str:
    """Two answers of one system to one item are two tasks: the text is part of the name, as a digest."""
    digest = (
        hashlib.sha256(candidate.text.encode("utf-8", "replace")).hexdigest()[:8] if candidate.text else ""
    )
    audio = str(candidate.audio.relative_to(folder.resolve())) if candidate.audio else ""
    return ":".join(filter(None, (candidate.system, audio, digest)))


def _merge(record: TaskRecord, judgment: JudgmentRecord) -> RowProblem | None:
    """Add a row's part to the judgment it belongs to, or begin a new one."""
    index = _belongs_to(record, judgment)
    if index is None:
        key = judgment.key or f"#{sum(1 for earlier in record.judgments if not earlier.rater)}"
        record.judgments.append(replace(judgment, key=key))
        return None
    earlier = record.judgments[index]
    if _asked(earlier) & _asked(judgment):
        problem = f"{judgment.rater} answered this on row {earlier.row} before"
        return RowProblem(judgment.row, "rater_id", problem, "Keep one answer per rater, task and question.")
    record.judgments[index] = replace(
        earlier,
        answers=earlier.answers + judgment.answers,
        codes=tuple(sorted({*earlier.codes, *judgment.codes})),
        comment="\n".join(dict.fromkeys(filter(None, (earlier.comment, judgment.comment)))),
    )
    return None


def _belongs_to(record: TaskRecord, judgment: JudgmentRecord) -> int | None:
    """The place of the judgment that this row goes on with: the named rater's, or the unnamed one just begun."""
    same = [index for index, earlier in enumerate(record.judgments) if earlier.rater == judgment.rater]
    if judgment.rater or not same:
        return same[0] if same else None
    last = record.judgments[same[-1]]
    goes_on = judgment.answers and last.answers and not _asked(last) & _asked(judgment)
    return same[-1] if goes_on else None


def _asked(judgment: JudgmentRecord) -> set[tuple[str, int | None]]:
    return {(answer.question, answer.slot) for answer in judgment.answers}
