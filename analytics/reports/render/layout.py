"""A table's cells in words, with the reasons of what is missing as lettered notes: what a page and a paper share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from string import ascii_lowercase

from analytics.reports.document import Cell, Column, Measured, Table

UNDEFINED = "–"
MINUS = "−"
_BEFORE_PERCENT = "\N{NO-BREAK SPACE}"


def format_value(value: float | str | None, column: Column) -> str:
    """The value alone, without an interval: 1,234; −0.05; 12.3 %; a dash where there is none."""
    if value is None:
        return UNDEFINED
    if isinstance(value, str):
        return value
    if column.kind == "p" and value < 10**-column.digits:
        return f"< {10**-column.digits:.{column.digits}f}"
    unit = f"{_BEFORE_PERCENT}%" if column.kind == "percent" else ""
    return _number(value, column) + unit


def format_interval(measured: Measured, column: Column) -> str:
    """[low, high], or nothing where there is no interval. The unit stands with the value."""
    if measured.low is None or measured.high is None:
        return ""
    return f"[{_number(measured.low, column)}, {_number(measured.high, column)}]"


def raw_value(value: Cell) -> str:
    """Every digit, for a program: nothing is rounded, a share stays a fraction of 1."""
    if value is None:
        return ""
    assert not isinstance(value, Measured)
    return repr(value + 0.0) if isinstance(value, float) else str(value)


def _number(value: float, column: Column) -> str:
    """With a real minus, and no sign before a zero."""
    text = _digits(value, column)
    return text.replace("-", MINUS if any(digit in text for digit in "123456789") else "")


def _digits(value: float, column: Column) -> str:
    if column.kind == "percent":
        return f"{100 * value:.{column.digits}f}"
    if column.kind in ("number", "p"):
        return f"{value:.{column.digits}f}"
    return f"{value:,.0f}" if column.kind == "count" else f"{value:g}"


# Names are not broken over lines: what is no longer than this, and what has no blanks. Other texts are sentences.
_NAME = 22
# How many letters of small print a page is wide, and what stands between two columns.
_PAGE, _GAP = 96, 3


@dataclass(frozen=True)
class Head:
    """`kind`: number, name or text. `spread`: intervals stand in a column of their own beside values."""

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
class TableLayout:
    """`reasons`: each letter with its sentence, in the order in which a reader meets them.

    widths: letters of the longest cell of each column; texts are broken over lines.
    """

    heads: Sequence[Head]
    rows: Sequence[Sequence[Entry]]
    reasons: Sequence[tuple[str, str]]
    widths: Sequence[int]

    @property
    def is_wide(self) -> bool:
        """It needs smaller print to fit on a page, even with its labels broken between words."""
        words = (max(map(len, head.label.split()), default=0) for head in self.heads)
        needed = map(max, words, self.widths)
        return sum(needed) + _GAP * len(self.heads) > _PAGE


def lay_out_table(table: Table, *, most_rows: int | None = None) -> TableLayout:
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
    reasons = [(letter, reason) for reason, letter in letters.items()]
    widths = [_width(head, [row[place] for row in rows]) for place, head in enumerate(heads)]
    return TableLayout(heads, rows, reasons, widths)


def _head(column: Column, cells: Sequence[Cell]) -> Head:
    spread = any(
        isinstance(cell, Measured) and cell.low is not None and cell.high is not None for cell in cells
    )
    if column.kind != "text":
        return Head(column.label, "number", spread)
    is_name = all(len(str(cell)) <= _NAME or " " not in str(cell) for cell in cells if cell is not None)
    return Head(column.label, "name" if is_name else "text", spread)


def _entry(cell: Cell, column: Column, head: Head, letters: dict[str, str]) -> Entry:
    if not isinstance(cell, Measured):
        return Entry(head, format_value(cell, column))
    letter = letters[cell.reason] if cell.reason else ""
    return Entry(head, format_value(cell.value, column), format_interval(cell, column), letter)


def _width(head: Head, entries: Sequence[Entry]) -> int:
    longest = max((len(f"{entry.text} {entry.interval}".strip()) for entry in entries), default=0)
    return min(longest, _NAME) if head.kind == "text" else longest


def _letters() -> Iterator[str]:
    """a, b, …, z, aa, ab, …"""
    for length in range(1, 4):
        yield from ("".join(letters) for letters in product(ascii_lowercase, repeat=length))
