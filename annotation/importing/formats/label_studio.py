"""Label Studio's exports: JSON (tasks with their annotations) and JSON_MIN (a flat record per annotation).

A task's data name an item and its candidates, a result of an annotation is a control's part of an answer: both become
rows of the plain table (columns.py, table.py). Which key is which field, and which control asks which question, is
known by name or mapped: `data.KEY` to a field, `control.FROM_NAME` to a question. What was skipped or predicted is left
out, and counted in a note. Raters are known by their numbers; of one who is only named by an e-mail address, a digest
is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from annotation.importing.formats import json_files, tool_exports
from annotation.importing.formats.tool_exports import Rows, ToolExport
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


# A control's name, its kind (empty for one that asks nothing like a question here) and its labels.
Result = tuple[str, str, tuple[Any, ...]]


def parse_result(result: Any) -> Result | None:
    """None where it is no result with from_name and value."""
    match result:
        case {"from_name": name, "value": dict() as value} if name:
            type_ = str(result.get("type") or "")
            # Label Studio names the type with its tag's letters in lower case; what is in the value says as much.
            kind, key = CONTROL_TYPES.get(type_.casefold(), ("", ""))
            return str(name), kind, _labels(value.get(key)) if kind else (type_ or "?",)
        case _:
            return None


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
}


def read(
    source: Path, protocol: Protocol, column_map: Mapping[str, str]
) -> Iterator[TaskRecord | RowProblem | Note]:
    if json_files.first_character(source) != "[":
        yield RowProblem(source.name, "", "is no list of tasks", AGAIN)
        return
    yield from _Export(source.parent, protocol, column_map).read(source)


class _Export(ToolExport):
    notes = {**NOTES, **ToolExport.notes}

    def __init__(self, folder: Path, protocol: Protocol, column_map: Mapping[str, str]) -> None:
        super().__init__(folder, protocol, column_map)
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
                yield from self._flat_record(row, str(name), task)
            else:
                remedy = f"{LAYOUT} Its tasks have `data`, or `annotation_id`."
                yield RowProblem(row, "data", "is missing", remedy)

    def _task(self, row: str, name: str, task: dict[str, Any]) -> Rows:
        if name in self._ids and name:
            remedy = (
                "Keep one of the two; ids are only unique within a project, so import projects one by one."
            )
            yield RowProblem(row, "id", "stands in the file twice", remedy)
            return
        self._ids.add(name)
        shared = self.task_values(row, task["data"], meta=task.get("meta"), name=name)
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
        if None in results:
            # Mapped controls beside the broken result are there, whatever becomes of them.
            self.controls.seen.update(name for name, *_ in filter(None, results))
            yield RowProblem(row, "result", "is no list of results with from_name and value", LAYOUT)
            return
        whole = filter(None, results)
        yield from self.judgment_rows(row, shared, rater, whole, annotation.get("presentation"))

    def _flat_record(self, row: str, name: str, record: Mapping[str, Any]) -> Rows:
        """A record of JSON_MIN is a task, which others are as well, with one annotation of it. Its keys are data or
        controls, and only their names and the form of their values tell which."""
        fields = tool_exports.map_fields(record, self.protocol, self.data_map)
        data: dict[str, Any] = {}
        results: list[Result] = []
        for key in (key for key in record if key not in JSON_MIN_FIELDS):
            kind, labels = _flat(record[key])
            if self.controls.is_one(key) or (kind and fields[key] is None):
                results.append((key, kind or UNKNOWN_KIND, labels))
            else:
                data[key] = record[key]
        shared = self.task_values(row, data, meta=None, name=name)
        if isinstance(shared, list):
            yield from shared
            return
        yield row, shared
        row = f"{row}, annotation {record.get('annotation_id', '')}"
        yield from self.judgment_rows(row, shared, self._rater(record.get("annotator")), results)

    def _rater(self, person: Any) -> str:
        if isinstance(person, dict):
            person = person["id"] if person.get("id") is not None else person.get("email")
        if person is None or person == "":
            return ""
        self.left_out.update({"mail": 1} if "@" in str(person) else {})
        return tool_exports.rater_name("label-studio", str(person))
