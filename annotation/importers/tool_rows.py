"""Tasks and answers of other annotation tools as rows of the plain table."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from annotation.importers import columns, tool_data
from annotation.importers.cells import Cells, cell
from annotation.importers.columns import FIELDS, LETTERED, SINGLE, STRATUM
from annotation.importers.controls import CONTROL, LEFT_OUT, Controls, Part, points, said
from annotation.importers.records import Note, RowProblem
from annotation.protocols import Protocol

Rows = Iterator[tuple[str, dict[str, Any]] | RowProblem]


# What is told of tasks and raters, whatever tool they come from.
NOTES = {
    "folders": "In {n} tasks nothing names the systems: the folders that their clips lie in were taken for them.",
    "letters": "In {n} tasks nothing names the systems: results by system will say nothing.",
    "mail": "{n} annotations name their rater by an e-mail address alone; a digest of it is kept instead.",
}


def rater_name(tool: str, who: str) -> str:
    """A stable name for somebody whom a tool knows as `who`. Of an e-mail address it keeps a digest: who knows the
    address can tell it, but nobody can read it; exports carry neither."""
    if "@" not in who:
        return f"{tool}:{who}"
    return f"{tool}:{hashlib.sha256(who.strip().casefold().encode('utf-8', 'replace')).hexdigest()[:16]}"


def notes(sentences: Mapping[str, str], counts: Mapping[str, int], controls: Controls) -> Iterator[Note]:
    yield from (Note(sentences[what].format(n=n)) for what, n in sorted(counts.items()))
    for name, question in sorted(controls.guessed.items()):
        yield Note(f"The control {name} was taken for {question}, which nothing else here answers.")


def never_met(column_map: Mapping[str, str], keys: set[str], controls: Controls) -> Iterator[RowProblem]:
    """What is mapped and was in no task: most likely a name that is spelled differently."""
    missing = [column for column in column_map if column.startswith(tool_data.DATA)]
    missing = [column for column in missing if column.removeprefix(tool_data.DATA) not in keys]
    missing += [CONTROL + name for name in controls.unseen()]
    missing += [column for column in column_map if not column.startswith((tool_data.DATA, CONTROL))]
    for column in sorted(missing):
        remedy = f"Write {tool_data.DATA}KEY or {CONTROL}NAME, spelled as in the source."
        yield RowProblem("", column, "is mapped but not there", remedy)


class Shared:
    """What all rows of one task have in common: its item and its candidates, with their sounds at hand."""

    def __init__(
        self, folder: Path, protocol: Protocol, column_map: Mapping[str, str], left_out: Counter[str]
    ) -> None:
        self.folder, self.protocol, self.column_map = folder, protocol, column_map
        self.keys: set[str] = set()
        self._left_out = left_out
        self._told: set[str] = set()

    def of(
        self, row: str, data: Mapping[str, Any], *, meta: Any, name: str
    ) -> dict[str, Any] | list[RowProblem]:
        """Fields by name, or every fault of them; `name` is the item's where no field says it. What `meta` says under
        the names of fields counts where the data, which raters saw, do not say it."""
        self.keys |= data.keys()
        found, problems = tool_data.values(row, data, self.column_map, self.protocol, self._told)
        if isinstance(meta, dict):
            found = {key: value for key, value in meta.items() if key in FIELDS or STRATUM.match(key)} | found
        if found.get("item_id") in (None, ""):
            found["item_id"] = name
        values: dict[str, Any] = {}
        for field, value in found.items():
            told = cell(row, field, value)
            if isinstance(told, str) and told and tool_data.AUDIO.match(field):
                told = tool_data.sound(self.folder, told, row=row, field=field)
            if isinstance(told, RowProblem):
                problems.append(told)
            else:
                values[field] = told
        self._name_systems(values, found)
        if not problems:
            named = columns.named(Cells(row, values), self.protocol, self.folder)
            problems = named if isinstance(named, list) else []
        return problems or values

    def _name_systems(self, values: dict[str, Any], written: Mapping[str, Any]) -> None:
        """Where nothing names a system, the folder of each candidate's clip does."""
        if any(field.startswith("system") for field in values):
            return
        clips = [field for field in values if field == "audio" or field.startswith("audio_")]
        folders = {field: tool_data.folder_of(str(written[field])) for field in clips}
        if self.protocol.candidate != "clip" or not clips or not all(folders.values()):
            self._left_out["letters"] += 1
        else:
            self._left_out["folders"] += 1
            values |= {f"system{field.removeprefix('audio')}": name for field, name in folders.items()}


class Answers:
    """The answers of one annotation, gathered from its controls: a row per question and candidate."""

    def __init__(self, row: str, controls: Controls) -> None:
        self.row, self.controls = row, controls
        self.problems: list[RowProblem] = []
        self._parts: dict[tuple[str, str], dict[str, str]] = {}
        self._where: dict[tuple[str, str], str] = {}
        self._beside: dict[str, str] = {}

    def add(self, name: str, kind: str, labels: tuple[Any, ...]) -> None:
        part = self.controls.part(name, kind)
        if part == LEFT_OUT or (part is not None and not labels):
            return
        leave = f'or leave it out (--map "{CONTROL}{name}=")'
        if part is None:
            known = f'Map it (--map "{CONTROL}{name}=QUESTION") to one of {self.controls.names}, {leave}.'
            self._fault(name, "is a control that the study's protocol has no question for", known)
        elif not kind:
            self._fault(
                name,
                f"is a control of type {labels[0]}, which answers no question",
                f"{leave[3:].capitalize()}.",
            )
        elif any(isinstance(label, dict | list | bool) for label in labels):
            self._fault(name, "holds something else than texts and numbers", f"Mend it, {leave}.")
        elif part.field in ("codes", "comment"):
            text = (" " if part.field == "codes" else "\n").join(str(label) for label in labels)
            self._beside[part.field] = "\n".join(filter(None, (self._beside.get(part.field), text)))
        else:
            self._answer(name, kind, part, labels)

    @property
    def rows(self) -> list[tuple[str, dict[str, str]]]:
        rows = [
            (self._where[about], {"question": about[0], "candidate": about[1], **parts})
            for about, parts in self._parts.items()
        ]
        if not self._beside:
            return rows
        first = rows[0] if rows else (self.row, {})
        return [(first[0], {**first[1], **self._beside}), *rows[1:]]

    def in_order(self, shared: Mapping[str, Any], order: Any) -> Iterator[tuple[str, dict[str, Any]]]:
        """The rows whole, with the candidates in the order in which they were heard, where one is known: the first of
        it is what the rater knew as A."""
        for where, part in self.rows:
            row = {**shared, **part}
            yield where, self._heard(row, order) if _is_order(order, shared) else row

    def _heard(self, row: dict[str, Any], order: Sequence[int]) -> dict[str, Any]:
        heard = {name: value for name, value in row.items() if name not in LETTERED}
        for place, slot in enumerate(order):
            for name in SINGLE:
                if (listed := f"{name}_{ascii_lowercase[slot]}") in row:
                    heard[f"{name}_{ascii_lowercase[place]}"] = row[listed]
        if candidate := row.get("candidate"):
            heard["candidate"] = ascii_lowercase[order.index(ascii_lowercase.index(candidate))]
        question = self.controls.protocol.question(row.get("question", ""))
        if question is not None and question.kind == "preference" and row["value"] in ("A", "B"):
            heard["value"] = "AB"[order.index("AB".index(row["value"]))]
        return heard

    def _answer(self, name: str, kind: str, part: Part, labels: tuple[Any, ...]) -> None:
        about = part.question, part.candidate
        question = self.controls.protocol.question(part.question)
        if len(labels) > 1 and kind != "text":
            self._fault(name, f"holds {len(labels)} answers", "Keep one.")
            return
        if part.field in self._parts.setdefault(about, {}):
            remedy = f'Leave one of the two controls out (--map "{CONTROL}{name}=").'
            self._fault(name, f"answers {part.question} a second time", remedy)
            return
        read = (points(label) if part.field == "confidence" else said(question, label) for label in labels)
        self._parts[about][part.field] = "\n".join(read)
        if part.field == "value" or about not in self._where:
            self._where[about] = f"{self.row}, {name}"

    def _fault(self, name: str, problem: str, remedy: str) -> None:
        self.problems.append(RowProblem(self.row, name, problem, remedy))


def _is_order(order: Any, shared: Mapping[str, Any]) -> bool:
    """Whether it names each of the task's candidates once, by their places."""
    n = sum(name.startswith("system_") for name in shared)
    places = isinstance(order, list) and all(type(place) is int for place in order)
    return places and n > 1 and sorted(order) == list(range(n))
