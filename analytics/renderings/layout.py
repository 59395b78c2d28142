"""A table's cells in words, with the reasons of what is missing as lettered notes: what a page and a paper share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from string import ascii_lowercase

from analytics.renderings.numbers import interval, written
from analytics.reports.document import Cell, Column, Measured, Table


@dataclass(frozen=True)
class Entry:
    """A cell as read: `letter` points to the reason why a figure or its interval is missing."""

    text: str
    interval: str = ""
    letter: str = ""
    is_number: bool = False


@dataclass(frozen=True)
class LaidOut:
    """`reasons`: each letter with its sentence, in the order in which a reader meets them."""

    rows: Sequence[Sequence[Entry]]
    reasons: Sequence[tuple[str, str]]


def laid_out(table: Table, *, most_rows: int | None = None) -> LaidOut:
    """All rows, or the first of them, with the reasons that those rows need."""
    letters: dict[str, str] = {}
    names = _letters()
    rows = []
    for row in table.rows[:most_rows]:
        for cell in row:
            if isinstance(cell, Measured) and cell.reason and cell.reason not in letters:
                letters[cell.reason] = next(names)
        rows.append([_entry(cell, column, letters) for cell, column in zip(row, table.columns, strict=True)])
    return LaidOut(rows, [(letter, reason) for reason, letter in letters.items()])


def _entry(cell: Cell, column: Column, letters: dict[str, str]) -> Entry:
    is_number = column.kind != "text"
    if not isinstance(cell, Measured):
        return Entry(written(cell, column), is_number=is_number)
    letter = letters[cell.reason] if cell.reason else ""
    return Entry(written(cell.value, column), interval(cell, column), letter, is_number)


def _letters() -> Iterator[str]:
    """a, b, …, z, aa, ab, …"""
    for length in range(1, 4):
        yield from ("".join(letters) for letters in product(ascii_lowercase, repeat=length))
