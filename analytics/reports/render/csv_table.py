"""A table as CSV: values with every digit, for programs and spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from analytics.reports.document import Cell, Column, Measured, Table
from analytics.reports.render.layout import raw_value
from annotation.csv_escaping import escape_formula


def csv_text(table: Table) -> str:
    """The header has the columns' keys; a measured column is four: its value, `_low`, `_high` and `_reason`."""
    measured = [
        any(isinstance(row[place], Measured) for row in table.rows) for place in range(len(table.columns))
    ]
    text = io.StringIO()
    writer = csv.writer(text)
    parts = ("", "_low", "_high", "_reason")
    columns = zip(table.columns, measured, strict=True)
    writer.writerow(f"{column.key}{part}" for column, four in columns for part in (parts if four else ("",)))
    for row in table.rows:
        cells = zip(row, table.columns, measured, strict=True)
        writer.writerow(part for cell, column, four in cells for part in _parts(cell, column, four))
    return text.getvalue()


def _parts(cell: Cell, column: Column, measured: bool) -> Iterator[str]:
    if not measured:
        yield _cell(cell, column)
        return
    whole = cell if isinstance(cell, Measured) else None
    for number in (whole.value, whole.low, whole.high) if whole else (cell, None, None):
        yield _cell(number, column)
    yield escape_formula(whole.reason or "" if whole else "")


def _cell(cell: Cell, column: Column) -> str:
    """Numbers are no formulas, so a minus stays what it is; texts are whatever somebody typed."""
    if isinstance(cell, str):
        return escape_formula(cell)
    if isinstance(cell, float) and column.kind == "count" and cell.is_integer():
        return str(int(cell))
    return raw_value(
        float(cell) if isinstance(cell, int) and column.kind in ("number", "percent", "p") else cell
    )
