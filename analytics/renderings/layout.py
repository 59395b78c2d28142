"""A table's cells in words, with the reasons of what is missing as lettered notes: what a page and a paper share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from string import ascii_lowercase

from analytics.renderings.numbers import interval, written
from analytics.reports.document import Cell, Column, Measured, Table

# Names up to here are not broken over lines; longer texts are sentences.
_NAME = 22
# How many letters of small print a page is wide, and what stands between two columns.
_PAGE, _GAP = 96, 3


@dataclass(frozen=True)
class Head:
    """`kind`: number, name (short texts) or text. `spread`: intervals stand in a column of their own beside values."""

    label: str
    kind: str
    spread: bool


@dataclass(frozen=True)
class Entry:
    """A cell as read: `letter` points to the reason why a figure or its interval is missing."""

    head: Head
    text: str
    interval: str = ""
    letter: str = ""


@dataclass(frozen=True)
class LaidOut:
    """`reasons`: each letter with its sentence, in the order in which a reader meets them.

    is_wide: it needs smaller print to fit on a page.
    """

    heads: Sequence[Head]
    rows: Sequence[Sequence[Entry]]
    reasons: Sequence[tuple[str, str]]
    is_wide: bool


def laid_out(table: Table, *, most_rows: int | None = None) -> LaidOut:
    """All rows, or the first of them, with the reasons that those rows need."""
    letters: dict[str, str] = {}
    names = _letters()
    heads = [_head(column, [row[place] for row in table.rows]) for place, column in enumerate(table.columns)]
    rows = []
    for row in table.rows[:most_rows]:
        for cell in row:
            if isinstance(cell, Measured) and cell.reason and cell.reason not in letters:
                letters[cell.reason] = next(names)
        cells = zip(row, table.columns, heads, strict=True)
        rows.append([_entry(cell, column, head, letters) for cell, column, head in cells])
    return LaidOut(
        heads, rows, [(letter, reason) for reason, letter in letters.items()], _is_wide(heads, rows)
    )


def _head(column: Column, cells: Sequence[Cell]) -> Head:
    spread = any(
        isinstance(cell, Measured) and cell.low is not None and cell.high is not None for cell in cells
    )
    if column.kind != "text":
        return Head(column.label, "number", spread)
    is_short = all(len(str(cell)) <= _NAME for cell in cells if cell is not None)
    return Head(column.label, "name" if is_short else "text", spread)


def _entry(cell: Cell, column: Column, head: Head, letters: dict[str, str]) -> Entry:
    if not isinstance(cell, Measured):
        return Entry(head, written(cell, column))
    letter = letters[cell.reason] if cell.reason else ""
    return Entry(head, written(cell.value, column), interval(cell, column), letter)


def _is_wide(heads: Sequence[Head], rows: Sequence[Sequence[Entry]]) -> bool:
    """By the longest cell of each column; texts and labels can be broken between words."""
    widths = [max((len(word) for word in head.label.split()), default=0) for head in heads]
    for row in rows:
        needed = (len(entry.text) + len(entry.interval) + bool(entry.interval) for entry in row)
        limits = (_NAME if entry.head.kind == "text" else 1000 for entry in row)
        widths = [max(pair) for pair in zip(widths, map(min, needed, limits), strict=True)]
    return sum(widths) + _GAP * len(widths) > _PAGE


def _letters() -> Iterator[str]:
    """a, b, …, z, aa, ab, …"""
    for length in range(1, 4):
        yield from ("".join(letters) for letters in product(ascii_lowercase, repeat=length))
