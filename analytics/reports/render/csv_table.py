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
    writer.writerow(
        name for column, four in zip(table.columns, measured, strict=True) for name in _names(column, four)
    )
    for row in table.rows:
        cells = zip(row, table.columns, measured, strict=True)
        writer.writerow(part for cell, column, four in cells for part in _parts(cell, column, four))
    return text.getvalue()


def _names(column: Column, measured: bool) -> list[str]:
    return [column.key, *(f"{column.key}_{part}" for part in ("low", "high", "reason") if measured)]


def _parts(cell: Cell, column: Column, measured: bool) -> Iterator[str]:
    if not measured:
        yield _cell(cell, column)
        return
    found = cell if isinstance(cell, Measured) else None
    yield _cell(found.value if found else cell, column)
    yield _cell(found.low if found else None, column)
    yield _cell(found.high if found else None, column)
    yield escape_formula(found.reason or "" if found else "")


def _cell(cell: Cell, column: Column) -> str:
    """Numbers are no formulas, so a minus stays what it is; texts are whatever somebody typed."""
    if isinstance(cell, str):
        return escape_formula(cell)
    if isinstance(cell, float) and column.kind == "count" and cell.is_integer():
        return str(int(cell))
    return raw_value(
        float(cell) if isinstance(cell, int) and column.kind in ("number", "percent", "p") else cell
    )
