"""A document as JSON and back, so that what was made once is shown, printed and downloaded from one source."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from analytics.reports.document import (
    Block,
    Cell,
    Column,
    Document,
    Figure,
    Measured,
    Paragraph,
    Section,
    Table,
)


def as_json(document: Document) -> dict[str, Any]:
    """Plain values. A block names its kind; a measured cell is an object, any other cell the value itself.

    Raises ValueError for what is neither a number nor missing: a figure without a value is None, with its reason.
    """
    return {
        "title": document.title,
        "language": document.language,
        "facts": [list(fact) for fact in document.facts],
        "sections": [
            {"key": one.key, "title": one.title, "blocks": [_block(block) for block in one.blocks]}
            for one in document.sections
        ],
    }


def from_json(stored: Mapping[str, Any]) -> Document:
    """The document that `as_json` was given, also after PostgreSQL has kept it, which knows one kind of number."""
    return Document(
        title=stored["title"],
        language=stored["language"],
        facts=tuple((label, value) for label, value in stored["facts"]),
        sections=tuple(
            Section(one["key"], one["title"], tuple(_read_block(block) for block in one["blocks"]))
            for one in stored["sections"]
        ),
    )


def _block(block: Block) -> dict[str, Any]:
    if not isinstance(block, Table):
        return {"kind": type(block).__name__.lower(), **asdict(block)}
    return {
        "kind": "table",
        "key": block.key,
        "caption": block.caption,
        "columns": [asdict(column) for column in block.columns],
        "rows": [[_cell(cell, block) for cell in row] for row in block.rows],
        "notes": list(block.notes),
    }


def _cell(cell: Cell, table: Table) -> Any:
    numbers = (cell.value, cell.low, cell.high) if isinstance(cell, Measured) else (cell,)
    if strange := [n for n in numbers if isinstance(n, float) and not math.isfinite(n)]:
        raise ValueError(f"The table {table.key!r} holds {strange[0]}, which no reader can use.")
    return asdict(cell) if isinstance(cell, Measured) else cell


def _read_block(stored: Mapping[str, Any]) -> Block:
    values = {name: value for name, value in stored.items() if name != "kind"}
    if stored["kind"] == "figure":
        return Figure(**values)
    if stored["kind"] == "paragraph":
        return Paragraph(**values)
    columns = tuple(Column(**column) for column in stored["columns"])
    rows = tuple(
        tuple(_read_cell(cell, column) for cell, column in zip(row, columns, strict=True))
        for row in stored["rows"]
    )
    return Table(**{**values, "columns": columns, "rows": rows, "notes": tuple(stored["notes"])})


def _read_cell(stored: Any, column: Column) -> Cell:
    if isinstance(stored, Mapping):
        numbers = {name: _number(stored[name], column) for name in ("value", "low", "high")}
        return Measured(**numbers, reason=stored["reason"])
    if isinstance(stored, int | float):
        return _number(stored, column)
    cell: str | None = stored
    return cell


def _number(stored: float | None, column: Column) -> float | None:
    if stored is None or column.kind == "count":
        return stored
    return float(stored)
