"""Cells of a table as a reader sees them: the same digits on a page and in a paper."""

from __future__ import annotations

from analytics.reports.document import Cell, Column, Measured

UNDEFINED = "–"
MINUS = "−"
_BEFORE_PERCENT = "\N{NO-BREAK SPACE}"


def written(value: float | str | None, column: Column) -> str:
    """The value alone, without an interval: 1,234; −0.05; 12.3 %; a dash where there is none."""
    if value is None:
        return UNDEFINED
    if isinstance(value, str):
        return value
    if column.kind == "p" and value < 10**-column.digits:
        return f"< {10**-column.digits:.{column.digits}f}"
    unit = f"{_BEFORE_PERCENT}%" if column.kind == "percent" else ""
    return _number(value, column) + unit


def interval(measured: Measured, column: Column) -> str:
    """[low, high], or nothing where there is no interval. The unit stands with the value."""
    if measured.low is None or measured.high is None:
        return ""
    return f"[{_number(measured.low, column)}, {_number(measured.high, column)}]"


def raw(value: Cell) -> str:
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
