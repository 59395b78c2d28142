"""Label Studio's exports: JSON (tasks with their annotations) and JSON_MIN (a flat record per annotation).

A task's data name an item and its candidates, a result of an annotation is a control's part of an answer: both become
rows of the plain table (columns.py, table.py). Which key is which field, and which control asks which question, is
known by name or mapped: `data.KEY` to a field, `control.FROM_NAME` to a question. What was skipped or predicted is left
out, and counted in a note. Raters are known by their numbers; of one who is only named by an e-mail address, a digest
is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.importing.formats import json_files, table, tool_exports
from annotation.importing.formats.tool_exports import Controls, Rows, TaskFields
from annotation.importing.records import Note, RowProblem, TaskRecord
from annotation.protocols import Protocol

# Results of annotations: the control and its labels

# Types of controls: what each kind is called here, and where in its value the answer is.
CONTROL_TYPES = {
    "choices": ("choices", "choices"),
    "rating": ("rating", "rating"),
    "number": ("number", "number"),
    "textarea": ("text", "text"),
    "pairwise": ("pairwise", "selected"),
}
KIND_OF_VALUE_KEY = {key: kind for kind, key in CONTROL_TYPES.values()}
# JSON_MIN does not say what kind of control a text is from.
UNKNOWN_KIND = "plain"
# What JSON_MIN says of an annotation, beside its task's data and its controls.
JSON_MIN_FIELDS = {"id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement"}


@dataclass(frozen=True)
class Result:
    """`kind` is empty for a control of a type that asks nothing like a question here."""

    name: str
    kind: str
    labels: tuple[Any, ...]


@dataclass(frozen=True)
class MinRecord:
    annotation_id: str
    annotator: Any
    data: Mapping[str, Any]
    results: list[Result | str]


def parse_result(result: Any) -> Result | str:
    """A sentence where it is none."""
    if (
        not isinstance(result, dict)
        or not result.get("from_name")
        or not isinstance(result.get("value"), dict)
    ):
        return "is no list of results with from_name and value"
    type_, value = str(result.get("type") or ""), result["value"]
    # Label Studio names the type with its tag's letters in lower case; what is in the value says as much.
    kind, key = CONTROL_TYPES.get(type_.casefold(), ("", ""))
    if not kind:
        return Result(str(result["from_name"]), "", (type_ or "?",))
    return Result(str(result["from_name"]), kind, _labels(value.get(key)))


def parse_min_record(record: Mapping[str, Any], controls: Controls, data_keys: Set[str]) -> MinRecord:
    """Its keys are data or controls, and only their names and the form of their values tell which."""
    data, results = {}, []
    for key, value in record.items():
        if key in JSON_MIN_FIELDS:
            continue
        kind, labels = _flat(value)
        if controls.is_one(key) or (kind and key not in data_keys):
            results.append(Result(key, kind or UNKNOWN_KIND, labels))
        else:
            data[key] = value
    return MinRecord(str(record.get("annotation_id", "")), record.get("annotator"), data, list(results))


def _flat(value: Any) -> tuple[str, tuple[Any, ...]]:
    """JSON_MIN writes a single choice or text as it is, other results as lists of their values."""
    parts = value if isinstance(value, list) else [value]
    kind = ""
    labels: list[Any] = []
    for part in parts:
        if isinstance(part, dict):
            key = next((key for key in KIND_OF_VALUE_KEY if key in part), "")
            kind = KIND_OF_VALUE_KEY.get(key, kind)
            labels += _labels(part.get(key))
        else:
            labels += _labels(part)
    return kind, tuple(labels)


def _labels(value: Any) -> tuple[Any, ...]:
    if value is None or value == "":
        return ()
    return tuple(value) if isinstance(value, list) else (value,)


AGAIN = "Export the project from Label Studio as JSON, or as JSON-MIN."
LAYOUT = "Use the file as Label Studio exports it."
NOTES = {
    "cancelled": "{n} skipped annotations were left out.",
    "predictions": "{n} predictions of models were left out: they are nobody's judgments.",
    "truth": "{n} annotations are marked as ground truth; they were taken as what they are, a rater's judgments.",
    "empty": "{n} annotations hold no answer and were left out.",
    **tool_exports.SHARED_NOTES,
}


def read(
    source: Path, protocol: Protocol, column_map: Mapping[str, str]
) -> Iterator[TaskRecord | RowProblem | Note]:
    if json_files.first_character(source) != "[":
        yield RowProblem(source.name, "", "is no list of tasks", AGAIN)
        return
    export = _Export(source.parent, protocol, column_map)
    yield from table.read_rows(export.rows(source), source.parent, protocol, {})
    yield from tool_exports.unmatched_mappings(column_map, export.shared.keys, export.controls)
    yield from tool_exports.report_notes(NOTES, export.left_out, export.controls)


class _Export:
    """One file on its way to rows, and what was left out of it."""

    def __init__(self, folder: Path, protocol: Protocol, column_map: Mapping[str, str]) -> None:
        self.protocol = protocol
        self.controls = Controls(protocol, column_map)
        self.left_out: Counter[str] = Counter()
        self.shared = TaskFields(folder, protocol, column_map, self.left_out)
        self._ids: set[str] = set()

    def rows(self, source: Path) -> Rows:
        for number, entry in enumerate(json_files.stream_entries(source, opens="["), 1):
            if isinstance(entry, RowProblem):
                yield entry
                continue
            task = entry[1]
            name = task.get("id") if isinstance(task, dict) else None
            row = f"task {name}" if name is not None else f"entry {number}"
            if not isinstance(task, dict) or (name is None and "data" not in task):
                yield RowProblem(row, "id", "is no task of Label Studio: it has no id", LAYOUT)
            elif isinstance(task.get("data"), dict):
                yield from self._task(row, "" if name is None else str(name), task)
            elif "annotator" in task or "annotation_id" in task:
                yield from self._record(
                    row, str(name), parse_min_record(task, self.controls, self._data_of(task))
                )
            else:
                yield RowProblem(
                    row, "data", "is missing", f"{LAYOUT} Its tasks have `data`, or `annotation_id`."
                )

    def _data_of(self, record: dict[str, Any]) -> set[str]:
        """The keys of a flat record that are fields for all that is known."""
        fields = tool_exports.map_fields(record, self.protocol, self.shared.column_map)
        return {key for key, field in fields.items() if field is not None}

    def _task(self, row: str, name: str, task: dict[str, Any]) -> Rows:
        if name in self._ids and name:
            remedy = (
                "Keep one of the two; ids are only unique within a project, so import projects one by one."
            )
            yield RowProblem(row, "id", "stands in the file twice", remedy)
            return
        self._ids.add(name)
        shared = self.shared.of(row, task["data"], meta=task.get("meta"), name=name)
        if isinstance(shared, list):
            yield from shared
            return
        yield row, shared  # the task itself, whatever becomes of its annotations
        predictions, annotations = task.get("predictions") or [], task.get("annotations") or []
        for field, entries in (("predictions", predictions), ("annotations", annotations)):
            if not isinstance(entries, list):
                yield RowProblem(row, field, "is not a list", LAYOUT)
                return
        self.left_out.update({"predictions": len(predictions)} if predictions else {})
        for number, annotation in enumerate(annotations, 1):
            yield from self._annotation(row, shared, number, annotation)

    def _annotation(self, row: str, shared: dict[str, Any], number: int, annotation: Any) -> Rows:
        if not isinstance(annotation, dict) or not isinstance(annotation.get("result") or [], list):
            yield RowProblem(row, f"annotations[{number - 1}]", "is no annotation with a result", LAYOUT)
            return
        row = f"{row}, annotation {annotation.get('id', number)}"
        if annotation.get("was_cancelled"):
            self.left_out["cancelled"] += 1
            return
        self.left_out.update({"truth": 1} if annotation.get("ground_truth") else {})
        results = [parse_result(result) for result in annotation.get("result") or []]
        rater = self._rater(annotation.get("completed_by", annotation.get("rater")))
        yield from self._answers(row, shared, rater, results, annotation.get("presentation"))

    def _record(self, row: str, name: str, record: MinRecord) -> Rows:
        """A flat record is a task, which others are as well, with one annotation of it."""
        shared = self.shared.of(row, record.data, meta=None, name=name)
        if isinstance(shared, list):
            yield from shared
            return
        yield row, shared
        row = f"{row}, annotation {record.annotation_id}"
        yield from self._answers(row, shared, self._rater(record.annotator), record.results)

    def _answers(
        self,
        row: str,
        shared: dict[str, Any],
        rater: str,
        results: list[Result | str],
        presentation: Any = None,
    ) -> Rows:
        answers = tool_exports.AnnotationAnswers(row, self.controls)
        for result in results:
            if isinstance(result, str):
                yield RowProblem(row, "result", result, LAYOUT)
                return
            answers.add(result.name, result.kind, result.labels)
        if answers.problems:
            yield from answers.problems
        elif not answers.rows:
            self.left_out["empty"] += 1
        else:
            yield from answers.as_presented({**shared, "rater_id": rater}, presentation)

    def _rater(self, person: Any) -> str:
        if isinstance(person, dict):
            person = person["id"] if person.get("id") is not None else person.get("email")
        if person is None or person == "":
            return ""
        self.left_out.update({"mail": 1} if "@" in str(person) else {})
        return tool_exports.rater_name("label-studio", str(person))
