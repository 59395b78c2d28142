"""A report as data: what it says, before anybody decides how it looks.

Sections hold blocks; a table holds values, not texts, so that one table is a page's, a CSV's and a paper's. Titles,
captions and sentences are in the language that was active when the section was made.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

# text: a name. count: a whole number. number, percent: with `digits` places; a percent is a fraction of 1.
# p: a p-value, of which a reader sees no more than that it is below the last of its digits.
Kind = Literal["text", "count", "number", "percent", "p"]


@dataclass(frozen=True)
class Measured:
    """A figure with its interval. Where `value` or the interval is None, `reason` is a sentence that says why."""

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str | None = None


Cell = str | int | float | Measured | None


@dataclass(frozen=True)
class Column:
    """`key`: the column's name in a CSV; a measured cell has three columns there, and one more for its reason."""

    key: str
    label: str
    kind: Kind = "text"
    digits: int = 2


class _Keyed:
    """A block with a key: letters, digits, hyphens and underscores, whatever the keys of options hold."""

    key: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", self.key.replace(":", "-").replace(".", "_"))


@dataclass(frozen=True)
class Table(_Keyed):
    """`key`: unique in a report and fit for a file's name. `notes`: what a reader has to know to read it right."""

    key: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Figure(_Keyed):
    """`svg`: drawn without colours of its own; whoever shows it brings them."""

    key: str
    caption: str
    svg: str


@dataclass(frozen=True)
class Paragraph:
    """Plain text. `warning`: something a reader must not miss, such as a result that cannot be trusted."""

    text: str
    warning: bool = False


Block = Table | Figure | Paragraph


@dataclass(frozen=True)
class Section:
    key: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Document:
    """`facts`: label and value, for the head of the report: study, data hash, seed, versions."""

    title: str
    language: str
    facts: Sequence[tuple[str, str]]
    sections: Sequence[Section]


def document_json(document: Document) -> dict[str, Any]:
    """Plain values. A block names its kind; a measured cell is an object, any other cell the value itself.

    Raises ValueError for what is neither a number nor missing: a figure without a value is None, with its reason.
    """
    return {
        "title": document.title,
        "language": document.language,
        "facts": [list(fact) for fact in document.facts],
        "sections": [
            {"key": one.key, "title": one.title, "blocks": [_block_json(block) for block in one.blocks]}
            for one in document.sections
        ],
    }


def document_from_json(stored: Mapping[str, Any]) -> Document:
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


def _block_json(block: Block) -> dict[str, Any]:
    if not isinstance(block, Table):
        return {"kind": type(block).__name__.lower(), **asdict(block)}
    return {
        "kind": "table",
        "key": block.key,
        "caption": block.caption,
        "columns": [asdict(column) for column in block.columns],
        "rows": [[_cell_json(cell, block) for cell in row] for row in block.rows],
        "notes": list(block.notes),
    }


def _cell_json(cell: Cell, table: Table) -> Any:
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
