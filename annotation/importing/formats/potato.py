"""POTATO's output: a project's folder with its configuration, its data and each user's answers, or an exported table.

    config.yaml                                     data_files, item_properties, annotation_schemes
    data/…                                          JSON, JSONL, CSV or TSV, as the configuration names it
    annotation_output/USER/user_state.json          instance_id_to_label_to_value: what they said

An exported table (CSV, TSV or JSONL with `instance_id`, `user_id` and a column per scheme) is read with the
configuration beside it. As with other tools, names tell what a key or a scheme is about, or a mapping does
(tool_exports.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from annotation.importing.formats import json_files, source_files, table, tool_exports
from annotation.importing.formats.source_files import yaml_text
from annotation.importing.formats.tool_exports import Rows, ToolExport, is_valid_answer, parse_label
from annotation.importing.records import Note, RowProblem, TaskRecord
from annotation.protocols import Protocol

# The files of a POTATO project: configuration, data, user states

# A project's data are held while its users' answers are read, as POTATO itself holds them.
MAX_DATA_BYTES = 256 * 1024 * 1024
MAX_STATE_BYTES = 64 * 1024 * 1024
MAX_CONFIGURATION_BYTES = 1024 * 1024
STATE_FILE = "user_state.json"
# Columns of an exported table that are no scheme's.
EXPORT_COLUMNS = {"instance_id", "user_id", "id", "text", "displayed_text", "timestamp", "annotation_time"}
# Kinds of controls by annotation type; those of other types hold a choice each.
CONTROL_KINDS = {
    "likert": "rating", "slider": "number", "number": "number", "text": "text", "textbox": "text",
    "pairwise": "choices", "radio": "choices", "select": "choices", "multiselect": "choices",
}  # fmt: skip
NAME_PROJECT_FOLDER = (
    "Name the project's folder, with its configuration (config.yaml), its data files and annotation_output."
)


@dataclass(frozen=True)
class Project:
    """`kinds`: the kind of each scheme's control."""

    data: tuple[Path, ...]
    id_key: str
    text_key: str
    kinds: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class InstanceAnswers:
    """A user's answers to an instance: by scheme, pairs of a label's name and its value."""

    user: str
    instance: str
    answers: Mapping[str, list[tuple[str, Any]]]
    has_spans: bool = False
    # A row of an exported table, which may repeat the instance's data.
    is_row: bool = False


def load_project(folder: Path) -> Project | RowProblem:
    paths = [
        path for path in sorted([*folder.glob("*.y*ml"), *folder.glob("config*/*.y*ml")]) if path.is_file()
    ]
    configurations = [(path, config) for path in paths if (config := _load_configuration(path)) is not None]
    if len(configurations) != 1:
        names = ", ".join(path.name for path, _ in configurations) or "no configuration that names data_files"
        return RowProblem("", "config.yaml", f"the folder holds {names}", NAME_PROJECT_FOLDER)
    path, config = configurations[0]
    data = []
    for entry in _as_list(config.get("data_files")):
        name = yaml_text(entry.get("path") if isinstance(entry, dict) else entry)
        file = tool_exports.resolve_tool_file(folder, name)
        if file is None:
            remedy = "Put it into the folder, at the path that the configuration names."
            return RowProblem(path.name, "data_files", f"{name} is not there", remedy)
        data.append(file)
    if sum(file.stat().st_size for file in data) > MAX_DATA_BYTES:
        problem = f"the data files are larger than {MAX_DATA_BYTES // 1024**2} MB together"
        remedy = "Import them in parts, with a configuration each."
        return RowProblem(path.name, "data_files", problem, remedy)
    keys = config.get("item_properties")
    keys = keys if isinstance(keys, dict) else {}
    schemes = [scheme for scheme in _as_list(config.get("annotation_schemes")) if isinstance(scheme, dict)]
    kinds = {
        yaml_text(one.get("name")): CONTROL_KINDS.get(yaml_text(one.get("annotation_type")), "choices")
        for one in schemes
    }
    id_key, text_key = yaml_text(keys.get("id_key")) or "id", yaml_text(keys.get("text_key")) or "text"
    return Project(tuple(data), id_key, text_key, kinds)


def _load_configuration(path: Path) -> dict[str, Any] | None:
    """None for a file that is no project's."""
    if path.stat().st_size > MAX_CONFIGURATION_BYTES:
        return None
    try:
        config = source_files.load_yaml(path.read_text(encoding="utf-8-sig"))
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError):
        return None
    return config if isinstance(config, dict) and config.get("data_files") else None


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def read_instances(path: Path) -> Rows:
    """The rows of a data file. What POTATO calls JSON are lines of it, or a list."""
    suffix = path.suffix.lower().removeprefix(".")
    if suffix == "json" and json_files.first_character(path) == "{":
        suffix = "jsonl"
    if suffix not in ("json", "jsonl", "csv", "tsv"):
        problem = "is neither JSON, JSONL, CSV nor TSV"
        return iter([RowProblem("", "", problem, "Save the data as one of them.")])
    return table.TABLE_READERS[suffix](path)


def read_exported_table(path: Path) -> Iterator[InstanceAnswers | RowProblem]:
    """An exported table: a row per user and instance."""
    for entry in read_instances(path):
        if isinstance(entry, RowProblem):
            yield entry
            continue
        row, values = entry
        if missing := [name for name in ("instance_id", "user_id") if values.get(name) in (None, "")]:
            remedy = "Export the annotations from POTATO again."
            yield RowProblem(row, ", ".join(missing), "is missing", remedy)
            continue
        answers: dict[str, list[tuple[str, Any]]] = {}
        for column, value in values.items():
            scheme, _, name = column.partition(".")
            if column not in EXPORT_COLUMNS:
                answers.setdefault(scheme, []).append((name, value))
        yield InstanceAnswers(str(values["user_id"]), str(values["instance_id"]), answers, is_row=True)


def read_user_states(folder: Path) -> Iterator[InstanceAnswers | RowProblem]:
    """What each user's state holds, instance by instance."""
    states = sorted(folder.rglob(STATE_FILE))
    if not states:
        yield RowProblem("", STATE_FILE, f"no user's {STATE_FILE} is in the folder", NAME_PROJECT_FOLDER)
    for path in states:
        row = f"user {path.parent.name}"
        if path.stat().st_size > MAX_STATE_BYTES:
            problem = f"is larger than {MAX_STATE_BYTES // 1024**2} MB"
            yield RowProblem(row, STATE_FILE, problem, "Export the annotations as JSONL and import that.")
            continue
        try:
            state = json.loads(path.read_text(encoding="utf-8-sig"))
        except UnicodeDecodeError:
            yield RowProblem(row, STATE_FILE, "is not UTF-8", source_files.SAVE_AS_UTF8)
        except (ValueError, RecursionError) as error:
            remedy = "Copy the file again; it may have been cut off."
            yield RowProblem(row, STATE_FILE, f"is not JSON: {error}", remedy)
        else:
            yield from _read_state(row, path.parent.name, state)


def _read_state(row: str, folder: str, state: Any) -> Iterator[InstanceAnswers | RowProblem]:
    labels = state.get("instance_id_to_label_to_value") if isinstance(state, dict) else None
    remedy = "Use the file as POTATO writes it."
    if not isinstance(labels, dict):
        yield RowProblem(row, "instance_id_to_label_to_value", "is missing", remedy)
        return
    spans = state.get("instance_id_to_span_to_value")
    spans = spans if isinstance(spans, dict) else {}
    user = str(state.get("user_id") or folder)
    for instance, pairs in labels.items():
        answers = _answers_by_scheme(pairs)
        if answers is None:
            problem = "is no list of pairs of a label and its value"
            yield RowProblem(f"{row}, instance {instance}", "labels", problem, remedy)
        else:
            yield InstanceAnswers(user, str(instance), answers, bool(spans.get(instance)))


def _answers_by_scheme(pairs: Any) -> dict[str, list[tuple[str, Any]]] | None:
    if not isinstance(pairs, list):
        return None
    answers: dict[str, list[tuple[str, Any]]] = {}
    for pair in pairs:
        match pair:
            case [{"schema": scheme} as label, value]:
                answers.setdefault(str(scheme), []).append((str(label.get("name") or ""), value))
            case _:
                return None
    return answers


NOTES = {
    "empty": "{n} instances hold no answer of the user who saw them and were left out.",
    "spans": "Marks on stretches of text were left out of {n} answers: nothing here asks for them.",
}


def read(
    source: Path, protocol: Protocol, column_map: Mapping[str, str]
) -> Iterator[TaskRecord | RowProblem | Note]:
    folder = source if source.is_dir() else source.parent
    project = load_project(folder)
    if isinstance(project, RowProblem):
        yield project
        return
    yield from _Output(project, folder, protocol, column_map).read(source)


class _Output(ToolExport):
    """A project on its way to rows. Its data are held, as POTATO holds them; what users said is read one by one."""

    notes = {**NOTES, **ToolExport.notes}

    def __init__(
        self, project: Project, folder: Path, protocol: Protocol, column_map: Mapping[str, str]
    ) -> None:
        fields = {tool_exports.DATA_PREFIX + project.id_key: "item_id"}
        if tool_exports.map_fields({project.text_key: ""}, protocol, {})[project.text_key] is None:
            # What is judged where texts are, what it was made from where clips are: its name says nothing else.
            text_field = "answer" if protocol.candidate == "text" else "prompt"
            fields |= {tool_exports.DATA_PREFIX + project.text_key: text_field}
        super().__init__(folder, protocol, column_map, fields)
        self.project = project
        self._instances: dict[str, dict[str, Any] | None] = {}

    def rows(self, source: Path) -> Rows:
        for data in self.project.data:
            yield from self._data(data)
        answers = read_user_states(source) if source.is_dir() else read_exported_table(source)
        for entry in answers:
            yield from [entry] if isinstance(entry, RowProblem) else self._judgment(entry)

    def _data(self, path: Path) -> Rows:
        for entry in read_instances(path):
            if isinstance(entry, RowProblem):
                yield replace(entry, row=f"{path.name} #{entry.row}")
                continue
            row, values = f"{path.name} #{entry[0]}", entry[1]
            name = "" if (instance_id := values.get(self.project.id_key)) is None else str(instance_id)
            if not name:
                remedy = "Give every instance its id, or name the key in the configuration's item_properties."
                yield RowProblem(row, self.project.id_key, "is missing", remedy)
            elif name in self._instances:
                problem = f"{name} is there twice"
                yield RowProblem(row, self.project.id_key, problem, "Give every instance an id of its own.")
            else:
                if "item_id" in values and self.project.id_key != "item_id":
                    del values[self.project.id_key]  # several instances are about one item
                shared = self.task_values(row, values, meta=None, name=name)
                self._instances[name] = shared if isinstance(shared, dict) else None
                yield from [(row, shared)] if isinstance(shared, dict) else shared

    def _judgment(self, instance_answers: InstanceAnswers) -> Rows:
        rater = tool_exports.rater_name("potato", instance_answers.user)
        row = f"user {rater.removeprefix('potato:')}, instance {instance_answers.instance}"
        if instance_answers.instance not in self._instances:
            remedy = "Put the data file that holds it into the folder, where the configuration names it."
            yield RowProblem(row, "instance_id", "is in no data file", remedy)
            return
        shared = self._instances[instance_answers.instance]
        if shared is None:
            return  # told where the data were read
        self.left_out.update({"spans": 1} if instance_answers.has_spans else {})
        rows = list(self.judgment_rows(row, shared, rater, self._results(instance_answers)))
        if "@" in instance_answers.user and any(isinstance(entry, tuple) for entry in rows):
            self.left_out["mail"] += 1
        yield from rows

    def _results(self, instance_answers: InstanceAnswers) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
        for scheme, parts in instance_answers.answers.items():
            repeated = instance_answers.is_row and scheme in self.keys and not self.controls.is_one(scheme)
            if not repeated:
                kind = self.project.kinds.get(scheme, "choices")
                yield scheme, kind, tuple(self._labels(scheme, kind, parts))

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
                yield name if is_valid_answer(question, parse_label(question, name)) else value
