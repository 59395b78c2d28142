"""Tables in JSON: a list of objects, read one at a time, or an object of lists, which has to be held whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from annotation.importers import files, json_entries
from annotation.importers.records import RowProblem

# An object of lists tells its first row when its last column has been read.
LARGEST_HELD = 64 * 1024 * 1024
AS_OBJECTS = 'Write a list of objects, [{"column": value, …}, …], or JSONL.'


def rows(source: Path) -> Iterator[tuple[str, dict[str, Any]] | RowProblem]:
    """A table's rows, counted from 1."""
    with source.open("rb") as file:
        found = files.not_text(file.read(4))
    if found:
        yield RowProblem("", "", found[0], found[1])
        return
    match json_entries.opening(source):
        case "[":
            yield from _objects(source)
        case "{":
            yield from _columns(source)
        case _:
            yield RowProblem("", "", "is not a JSON list or object in UTF-8", AS_OBJECTS)


def _objects(source: Path) -> Iterator[tuple[str, dict[str, Any]] | RowProblem]:
    for number, entry in enumerate(json_entries.entries(source, opens="["), 1):
        if isinstance(entry, RowProblem):
            yield entry
        elif isinstance(entry[1], dict):
            yield str(number), entry[1]
        else:
            yield RowProblem(str(number), "", "is not an object", AS_OBJECTS)


def _columns(source: Path) -> Iterator[tuple[str, dict[str, Any]] | RowProblem]:
    if source.stat().st_size > LARGEST_HELD:
        problem = f"is an object, not a list, and larger than {LARGEST_HELD // 1024**2} MB"
        yield RowProblem("", "", problem, AS_OBJECTS)
        return
    columns: dict[str, list[Any]] = {}
    for entry in json_entries.entries(source, opens="{"):
        if isinstance(entry, RowProblem):
            yield entry
            return
        name, values = entry
        if not isinstance(values, list):
            yield RowProblem("", name, "is not a list of values", AS_OBJECTS)
            return
        if name in columns:
            yield RowProblem("", name, "stands in the object twice", "Give every column its own name.")
            return
        columns[name] = values
    if len({len(values) for values in columns.values()}) > 1:
        lengths = ", ".join(f"{name}: {len(values)}" for name, values in columns.items())
        problem = f"its columns are of different lengths ({lengths[:200]})"
        yield RowProblem("", "", problem, "Give every column a value per row, null where there is none.")
        return
    for number, values in enumerate(zip(*columns.values(), strict=True), 1):
        yield str(number), dict(zip(columns, values, strict=True))
