"""POTATO's output: a project's folder with its configuration, its data and each user's answers, or an exported table.

    config.yaml                                     data_files, item_properties, annotation_schemes
    data/…                                          JSON, JSONL, CSV or TSV, as the configuration names it
    annotation_output/USER/user_state.json          instance_id_to_label_to_value: what they said

An exported table (CSV, TSV or JSONL with `instance_id`, `user_id` and a column per scheme) is read with the
configuration beside it. As with other tools, names tell what a key or a scheme is about, or a mapping does
(tool_data.py, controls.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from annotation.importers import potato_project, table, tool_data, tool_rows
from annotation.importers.controls import Controls, fits, said
from annotation.importers.potato_project import Project, Said
from annotation.importers.records import Note, RowProblem, TaskRecord
from annotation.importers.tool_rows import Rows, Shared
from annotation.protocols import Protocol

NOTES = {
    "empty": "{n} instances hold no answer of the user who saw them and were left out.",
    **tool_rows.NOTES,
    "spans": "Marks on stretches of text were left out of {n} answers: nothing here asks for them.",
}


def read(
    source: Path, protocol: Protocol, column_map: Mapping[str, str]
) -> Iterator[TaskRecord | RowProblem | Note]:
    folder = source if source.is_dir() else source.parent
    project = potato_project.load(folder)
    if isinstance(project, RowProblem):
        yield project
        return
    output = _Output(project, folder, protocol, column_map)
    yield from table.read_rows(output.rows(source), folder, protocol, {})
    yield from tool_rows.never_met(column_map, output.shared.keys, output.controls)
    yield from tool_rows.notes(NOTES, output.left_out, output.controls)


class _Output:
    """A project on its way to rows. Its data are held, as POTATO holds them; what users said is read one by one."""

    def __init__(
        self, project: Project, folder: Path, protocol: Protocol, column_map: Mapping[str, str]
    ) -> None:
        self.project, self.protocol = project, protocol
        self.controls = Controls(protocol, column_map)
        self.left_out: Counter[str] = Counter()
        known = {tool_data.DATA + project.id_key: "item_id"}
        known |= self._text_of(project, protocol)
        self.shared = Shared(folder, protocol, {**known, **column_map}, self.left_out)
        self._instances: dict[str, dict[str, Any] | None] = {}

    def _text_of(self, project: Project, protocol: Protocol) -> dict[str, str]:
        """What is judged where texts are, what it was made from where clips are: unless its name says otherwise."""
        if tool_data.fields({project.text_key: ""}, protocol, {})[project.text_key] is not None:
            return {}
        return {tool_data.DATA + project.text_key: "answer" if protocol.candidate == "text" else "prompt"}

    def rows(self, source: Path) -> Rows:
        for data in self.project.data:
            yield from self._data(data)
        answers = potato_project.users(source) if source.is_dir() else potato_project.exported(source)
        for entry in answers:
            yield from [entry] if isinstance(entry, RowProblem) else self._said(entry)

    def _data(self, path: Path) -> Rows:
        for entry in potato_project.instances(path):
            if isinstance(entry, RowProblem):
                yield RowProblem(f"{path.name} #{entry.row}", entry.field, entry.problem, entry.remedy)
                continue
            row, values = f"{path.name} #{entry[0]}", entry[1]
            name = "" if (found := values.get(self.project.id_key)) is None else str(found)
            if not name:
                remedy = "Give every instance its id, or name the key in the configuration's item_properties."
                yield RowProblem(row, self.project.id_key, "is missing", remedy)
            elif name in self._instances:
                yield RowProblem(
                    row,
                    self.project.id_key,
                    f"{name} is there twice",
                    "Give every instance an id of its own.",
                )
            else:
                if "item_id" in values and self.project.id_key != "item_id":
                    del values[self.project.id_key]  # several instances are about one item
                shared = self.shared.of(row, values, meta=None, name=name)
                self._instances[name] = shared if isinstance(shared, dict) else None
                yield from [(row, shared)] if isinstance(shared, dict) else shared

    def _said(self, given: Said) -> Rows:
        rater = tool_rows.rater_name("potato", given.user)
        row = f"user {rater.removeprefix('potato:')}, instance {given.instance}"
        if given.instance not in self._instances:
            remedy = "Put the data file that holds it into the folder, where the configuration names it."
            yield RowProblem(row, "instance_id", "is in no data file", remedy)
            return
        shared = self._instances[given.instance]
        if shared is None:
            return  # told where the data were read
        self.left_out.update({"spans": 1} if given.has_spans else {})
        answers = tool_rows.Answers(row, self.controls)
        for scheme, parts in given.answers.items():
            repeated = given.is_row and scheme in self.shared.keys and not self.controls.is_one(scheme)
            if not repeated:
                kind = self.project.kinds.get(scheme, "choices")
                answers.add(scheme, kind, tuple(self._labels(scheme, kind, parts)))
        if answers.problems:
            yield from answers.problems
        elif not answers.rows:
            self.left_out["empty"] += 1
        else:
            self.left_out.update({"mail": 1} if "@" in given.user else {})
            yield from answers.in_order({**shared, "rater_id": rater}, None)

    def _labels(self, scheme: str, kind: str, parts: list[tuple[str, Any]]) -> Iterator[Any]:
        """A choice's label is its name or its value, by its kind of control; the one that can be an answer is taken."""
        part = self.controls.part(scheme, kind)
        question = self.controls.protocol.question(part.question) if part and part.field == "value" else None
        for name, value in parts:
            if value in (None, "", False, "false"):
                continue
            if kind == "text" or not name or (part and part.field in ("comment", "confidence")):
                yield value
            elif question is None:
                yield name
            else:
                yield name if fits(question, said(question, name)) else value
