"""One result of a Label Studio annotation: which control it is of, and what was chosen, rated or written."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any

from annotation.importers.controls import Controls

# Types of controls: what each kind is called here, and where in its value the answer is.
TYPES = {
    "choices": ("choices", "choices"),
    "rating": ("rating", "rating"),
    "number": ("number", "number"),
    "textarea": ("text", "text"),
    "pairwise": ("pairwise", "selected"),
}
KEYS = {key: kind for kind, key in TYPES.values()}
# JSON_MIN does not say what kind of control a text is from.
PLAIN = "plain"
# What JSON_MIN says of an annotation, beside its task's data and its controls.
OWN = {"id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement"}


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


def result(given: Any) -> Result | str:
    """A sentence where it is none."""
    if not isinstance(given, dict) or not given.get("from_name") or not isinstance(given.get("value"), dict):
        return "is no list of results with from_name and value"
    type_, value = str(given.get("type") or ""), given["value"]
    # Label Studio names the type with its tag's letters in lower case; what is in the value says as much.
    kind, key = TYPES.get(type_.casefold(), ("", ""))
    if not kind:
        return Result(str(given["from_name"]), "", (type_ or "?",))
    return Result(str(given["from_name"]), kind, _labels(value.get(key)))


def min_record(record: Mapping[str, Any], controls: Controls, data_keys: Set[str]) -> MinRecord:
    """Its keys are data or controls, and only their names and the form of their values tell which."""
    data, results = {}, []
    for key, value in record.items():
        if key in OWN:
            continue
        kind, labels = _flat(value)
        if controls.is_one(key) or (kind and key not in data_keys):
            results.append(Result(key, kind or PLAIN, labels))
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
            key = next((key for key in KEYS if key in part), "")
            kind = KEYS.get(key, kind)
            labels += _labels(part.get(key))
        else:
            labels += _labels(part)
    return kind, tuple(labels)


def _labels(value: Any) -> tuple[Any, ...]:
    if value is None or value == "":
        return ()
    return tuple(value) if isinstance(value, list) else (value,)
