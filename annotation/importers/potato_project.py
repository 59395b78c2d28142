"""The files of a POTATO project: its configuration, its data, what its users said."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from annotation.importers import files, json_entries, table, tool_data, yaml_values
from annotation.importers.records import RowProblem
from annotation.importers.yaml_values import text

# A project's data are held while its users' answers are read, as POTATO itself holds them.
LARGEST_DATA = 256 * 1024 * 1024
LARGEST_STATE = 64 * 1024 * 1024
LARGEST_CONFIGURATION = 1024 * 1024
STATE = "user_state.json"
# Columns of an exported table that are no scheme's.
OWN = {"instance_id", "user_id", "id", "text", "displayed_text", "timestamp", "annotation_time"}
# Kinds of controls by annotation type; those of other types hold a choice each.
KINDS = {
    "likert": "rating", "slider": "number", "number": "number", "text": "text", "textbox": "text",
    "pairwise": "choices", "radio": "choices", "select": "choices", "multiselect": "choices",
}  # fmt: skip
OUTPUT = (
    "Name the project's folder, with its configuration (config.yaml), its data files and annotation_output."
)

Entries = Iterator[tuple[str, dict[str, Any]] | RowProblem]


@dataclass(frozen=True)
class Project:
    """`kinds`: the kind of each scheme's control."""

    data: tuple[Path, ...]
    id_key: str
    text_key: str
    kinds: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Said:
    """What a user said of an instance: by scheme, pairs of a label's name and its value."""

    user: str
    instance: str
    answers: Mapping[str, list[tuple[str, Any]]]
    has_spans: bool = False
    # A row of an exported table, which may repeat the instance's data.
    is_row: bool = False


def load(folder: Path) -> Project | RowProblem:
    found = [
        path for path in sorted([*folder.glob("*.y*ml"), *folder.glob("config*/*.y*ml")]) if path.is_file()
    ]
    configurations = [(path, config) for path in found if (config := _configuration(path)) is not None]
    if len(configurations) != 1:
        names = ", ".join(path.name for path, _ in configurations) or "no configuration that names data_files"
        return RowProblem("", "config.yaml", f"the folder holds {names}", OUTPUT)
    path, config = configurations[0]
    data = []
    for named in _list(config.get("data_files")):
        name = text(named.get("path") if isinstance(named, dict) else named)
        file = tool_data.below(folder, name)
        if file is None:
            remedy = "Put it into the folder, at the path that the configuration names."
            return RowProblem(path.name, "data_files", f"{name} is not there", remedy)
        data.append(file)
    if sum(file.stat().st_size for file in data) > LARGEST_DATA:
        problem = f"the data files are larger than {LARGEST_DATA // 1024**2} MB together"
        return RowProblem(
            path.name, "data_files", problem, "Import them in parts, with a configuration each."
        )
    keys = config.get("item_properties")
    keys = keys if isinstance(keys, dict) else {}
    schemes = [scheme for scheme in _list(config.get("annotation_schemes")) if isinstance(scheme, dict)]
    kinds = {text(one.get("name")): KINDS.get(text(one.get("annotation_type")), "choices") for one in schemes}
    id_key, text_key = text(keys.get("id_key")) or "id", text(keys.get("text_key")) or "text"
    return Project(tuple(data), id_key, text_key, kinds)


def _configuration(path: Path) -> dict[str, Any] | None:
    """None for a file that is no project's."""
    if path.stat().st_size > LARGEST_CONFIGURATION:
        return None
    try:
        config = yaml_values.load(path.read_text(encoding="utf-8-sig"))
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError):
        return None
    return config if isinstance(config, dict) and config.get("data_files") else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def instances(path: Path) -> Entries:
    """The rows of a data file. What POTATO calls JSON are lines of it, or a list."""
    suffix = path.suffix.lower().removeprefix(".")
    if suffix == "json" and json_entries.opening(path) == "{":
        suffix = "jsonl"
    if suffix not in ("json", "jsonl", "csv", "tsv"):
        return iter(
            [RowProblem("", "", "is neither JSON, JSONL, CSV nor TSV", "Save the data as one of them.")]
        )
    return table.TABLES[suffix](path)


def exported(path: Path) -> Iterator[Said | RowProblem]:
    """An exported table: a row per user and instance."""
    for entry in instances(path):
        if isinstance(entry, RowProblem):
            yield entry
            continue
        row, values = entry
        if missing := [name for name in ("instance_id", "user_id") if values.get(name) in (None, "")]:
            yield RowProblem(
                row, ", ".join(missing), "is missing", "Export the annotations from POTATO again."
            )
            continue
        answers: dict[str, list[tuple[str, Any]]] = {}
        for column, value in values.items():
            scheme, _, name = column.partition(".")
            if column not in OWN:
                answers.setdefault(scheme, []).append((name, value))
        yield Said(str(values["user_id"]), str(values["instance_id"]), answers, is_row=True)


def users(folder: Path) -> Iterator[Said | RowProblem]:
    """What each user's state holds, instance by instance."""
    states = sorted(folder.rglob(STATE))
    if not states:
        yield RowProblem("", STATE, f"no user's {STATE} is in the folder", OUTPUT)
    for path in states:
        row = f"user {path.parent.name}"
        if path.stat().st_size > LARGEST_STATE:
            problem = f"is larger than {LARGEST_STATE // 1024**2} MB"
            yield RowProblem(row, STATE, problem, "Export the annotations as JSONL and import that.")
            continue
        try:
            state = json.loads(path.read_text(encoding="utf-8-sig"))
        except UnicodeDecodeError:
            yield RowProblem(row, STATE, "is not UTF-8", files.UTF8)
            continue
        except (ValueError, RecursionError) as error:
            yield RowProblem(
                row, STATE, f"is not JSON: {error}", "Copy the file again; it may have been cut off."
            )
            continue
        yield from _state(row, path.parent.name, state)


def _state(row: str, folder: str, state: Any) -> Iterator[Said | RowProblem]:
    labels = state.get("instance_id_to_label_to_value") if isinstance(state, dict) else None
    if not isinstance(labels, dict):
        yield RowProblem(
            row, "instance_id_to_label_to_value", "is missing", "Use the file as POTATO writes it."
        )
        return
    spans = state.get("instance_id_to_span_to_value")
    spans = spans if isinstance(spans, dict) else {}
    user = str(state.get("user_id") or folder)
    for instance, pairs in labels.items():
        answers = _answers(pairs)
        if answers is None:
            problem = "is no list of pairs of a label and its value"
            remedy = "Use the file as POTATO writes it."
            yield RowProblem(f"{row}, instance {instance}", "labels", problem, remedy)
        else:
            yield Said(user, str(instance), answers, bool(spans.get(instance)))


def _answers(pairs: Any) -> dict[str, list[tuple[str, Any]]] | None:
    if not isinstance(pairs, list):
        return None
    answers: dict[str, list[tuple[str, Any]]] = {}
    for pair in pairs:
        if (
            not isinstance(pair, list)
            or len(pair) != 2
            or not isinstance(pair[0], dict)
            or "schema" not in pair[0]
        ):
            return None
        answers.setdefault(str(pair[0]["schema"]), []).append((str(pair[0].get("name") or ""), pair[1]))
    return answers
