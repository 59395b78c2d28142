"""Folders of sounds with a table beside them, as Hugging Face's AudioFolder: metadata.csv, .jsonl or .parquet.

`file_name` names a row's sound, relative to the table, and becomes its column `audio`; `chosen_file_name` becomes
`chosen`, and so on. Tables may lie in folders of their own, such as one per split. Files without a row and rows without
a file are told. Folders without a table are read by `paired_folders`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from annotation.importers import delimited, files, paired_folders, parquet_rows, sound_files
from annotation.importers.records import RowProblem, Stated
from annotation.protocols import Protocol

Rows = Iterator[tuple[str, dict[str, Any]] | RowProblem]
METADATA: dict[str, Callable[[Path], Rows]] = {
    "metadata.csv": delimited.csv_rows,
    "metadata.jsonl": files.json_lines,
    "metadata.parquet": parquet_rows.rows,
}
FILE_NAME = "file_name"
SPLITS = {
    "train": "train",
    "training": "train",
    "test": "test",
    "testing": "test",
    "eval": "test",
    "evaluation": "test",
    "validation": "validation",
    "valid": "validation",
    "dev": "validation",
    "val": "validation",
}


def rows(source: Path) -> Rows:
    """A row per line of the tables; without them a row per sound."""
    return _rows_of(source, paired_folders.rows)


def rows_for(source: Path, protocol: Protocol) -> Rows:
    """The rows as a protocol asks for them: sounds that nothing but their names pairs are paired as it compares."""
    return _rows_of(source, lambda folder: paired_folders.rows_for(folder, protocol))


def _rows_of(source: Path, paired: Callable[[Path], Rows]) -> Rows:
    if source.is_file() and source.name.lower() not in METADATA:
        remedy = "Name the folder with the sounds. Archives are unpacked first, or brought in the browser."
        return iter([RowProblem("", "", f"{source.name} is no folder", remedy)])
    folder = folder_of(source)
    tables = metadata(folder)
    return _rows(folder, tables) if tables else paired(folder)


def folder_of(source: Path) -> Path:
    """The folder, whether it is named or the table inside it."""
    return source if source.is_dir() else source.parent


def metadata(folder: Path) -> list[Path]:
    return [
        path for path in sound_files.walk(folder) if isinstance(path, Path) and path.name.lower() in METADATA
    ]


def split_of(path: Path, folder: Path) -> str:
    """The split that a table's folder stands for; nothing where there is one table for all."""
    parts = path.relative_to(folder).parts[:-1]
    return next((SPLITS[part.lower()] for part in parts if part.lower() in SPLITS), "")


def _rows(folder: Path, tables: list[Path]) -> Rows:
    root, used = folder.resolve(), set[int]()
    for table in tables:
        place = f"{table.relative_to(root)} " if len(tables) > 1 else ""
        for entry in METADATA[table.name.lower()](table):
            if isinstance(entry, RowProblem):
                yield RowProblem(f"{place}{entry.row}".strip(), entry.field, entry.problem, entry.remedy)
                continue
            row, values = f"{place}{entry[0]}", entry[1]
            found = _with_sounds(row, values, table.parent)
            if isinstance(found, list):
                yield from found
                continue
            used |= {hash(value) for value in found.values() if isinstance(value, Path)}
            yield row, {**_defaults(found, root, split_of(table, root)), **found}
    yield from _without_rows(root, used)


def _with_sounds(row: str, values: dict[str, Any], folder: Path) -> dict[str, Any] | list[RowProblem]:
    """A row with its files in place of their names."""
    named = {column: column.removesuffix(FILE_NAME) for column in values if column.endswith(FILE_NAME)}
    named = {column: start.removesuffix("_") or "audio" for column, start in named.items()}
    if several := [column for column in values if column.endswith(f"{FILE_NAME}s")]:
        remedy = f"Name one file per column: {FILE_NAME}, or chosen_{FILE_NAME} and rejected_{FILE_NAME}."
        return [RowProblem(row, several[0], "holds several files", remedy)]
    if not named:
        return [RowProblem(row, FILE_NAME, "is missing", "Name the row's sound, relative to the table.")]
    if doubled := [
        name for column, name in named.items() if name in values or list(named.values()).count(name) > 1
    ]:
        return [RowProblem(row, doubled[0], "is there twice", f"Keep {doubled[0]} or the file's name.")]
    found: dict[str, Any] = {}
    problems = []
    for column, value in values.items():
        text = "" if value is None else str(value).strip()
        sound = files.sound(folder, text, row=row, field=column) if column in named and text else None
        if isinstance(sound, RowProblem):
            problems.append(sound)
        found[named.get(column, column)] = sound if column in named else value
    if not problems and not any(found[name] for name in named.values()):
        problems.append(
            RowProblem(row, FILE_NAME, "is empty", "Name the row's sound, relative to the table.")
        )
    return problems or found


def _defaults(found: dict[str, Any], root: Path, split: str) -> dict[str, Any]:
    """What a folder says without a column: the item, by its first sound's path, and the split."""
    first = next((value for value in found.values() if isinstance(value, Path)), None)
    stated: dict[str, Any] = {"stratum.split": Stated(split)} if split and "split" not in found else {}
    if first is not None and "item_id" not in found:
        stated["item_id"] = Stated(first.relative_to(root).with_suffix(""))
    return stated


def _without_rows(root: Path, used: set[int]) -> Iterator[RowProblem]:
    for path in sound_files.walk(root):
        if isinstance(path, RowProblem):
            yield path
        elif sound_files.is_sound(path) and hash(path) not in used:
            name = str(path.relative_to(root))
            yield RowProblem(name, FILE_NAME, "has no row in the table", "Add a row for it, or take it out.")
