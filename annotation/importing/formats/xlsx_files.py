"""Rows of Excel workbooks (.xlsx), one row at a time, with values as a person sees them in the sheet.

A workbook is an archive of XML: what it states to unpack to is bounded before it is opened (zip bomb), and so is a row.
Formulas are read by the result that the file holds.
"""

from __future__ import annotations

import re
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from annotation.importing.formats import source_files
from annotation.importing.records import RowProblem

Rows = Iterator[tuple[str, dict[str, Any]] | RowProblem]
WORKBOOK_PART = "xl/workbook.xml"
# Strings and styles are held in memory; sheets are streamed.
MAX_HELD_BYTES = 256 * 1024**2
MAX_UNPACKED_BYTES = 2 * 1024**3
MAX_COMPRESSION_RATIO = 200
RATIO_FROM_BYTES = 100_000_000
MAX_ENTRIES = 10_000
_CHUNK = 1 << 20
# A number format of zeros alone, such as 000, shows an id with its leading zeros.
_LEADING_ZEROS = re.compile(r"0{2,20}\Z")
# A cell with a formula and no result, as programs write it that compute none.
_NO_RESULT = re.compile(
    rb'<c\b(?=[^>]*\br="([A-Z]{1,3}[0-9]{1,7})")[^>]*><f\b[^>]*?(?:/>|>[^<]*</f>)(?:<v\s*/>|<v></v>)?</c>'
)
_LONGEST_CELL = 64 * 1024
_ROW_START = re.compile(rb"<row\b")
SAVE_IN_EXCEL = "Open it in Excel, save it, and import it again."
SAVE_AGAIN = "Save it again as .xlsx, or the table as CSV UTF-8."


class _Unreadable(Exception):
    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem)
        self.problem, self.remedy = problem, remedy


def is_workbook(source: Path) -> bool:
    try:
        with zipfile.ZipFile(source) as archive:
            return WORKBOOK_PART in archive.namelist()
    except (OSError, zipfile.BadZipFile, ValueError):
        return False


def sheet_names(source: Path) -> tuple[str, ...]:
    """The sheets with cells, in their order; none where the workbook cannot be read."""
    try:
        with _opened(source) as workbook:
            return tuple(sheet.title for sheet in workbook.worksheets)
    except _Unreadable:
        return ()


def xlsx_rows(source: Path, *, sheet: str = "") -> Rows:
    """The rows below the first row that has cells, of the sheet that is named or of the first."""
    try:
        with _opened(source) as workbook:
            yield from _sheet_rows(source, _chosen_sheet(workbook, sheet))
    except _Unreadable as error:
        yield RowProblem("", "", f"{source.name} {error.problem}", error.remedy)


def _sheet_rows(source: Path, sheet: Any) -> Rows:
    if cell := _check_sheet(source, sheet):
        yield RowProblem(
            re.sub(r"[A-Z]+", "", cell), cell, "holds a formula without its result", SAVE_IN_EXCEL
        )
        return
    header: list[str] = []
    for number, cells in enumerate(_readable(sheet.iter_rows()), 1):
        values = [_displayed(cell) for cell in cells]
        while values and values[-1] in (None, ""):
            values.pop()
        if not values:
            continue
        if not header:
            header = ["" if value is None else str(value).strip() for value in values]
            if fault := _wrong_header(str(number), header):
                yield fault
                return
            continue
        row = str(number)
        if errors := [RowProblem(row, _column(header, place), f"holds the error {value}", "Mend the formula.")
                      for place, value in enumerate(values) if isinstance(value, _ErrorValue)]:  # fmt: skip
            yield from errors
        elif len(values) > len(header):
            problem = f"has {len(values)} cells, the header has {len(header)}"
            yield RowProblem(row, "", problem, "Name the column, or clear the cell.")
        else:
            yield row, dict(zip(header, [*values, *[None] * (len(header) - len(values))], strict=True))
    if not header:
        yield RowProblem("1", "", f"the sheet {sheet.title!r} is empty", "Choose the sheet with the table.")


def _column(header: Sequence[str], place: int) -> str:
    return header[place] if place < len(header) else ""


def _wrong_header(row: str, header: Sequence[str]) -> RowProblem | None:
    if all(header) and len(set(header)) == len(header):
        return None
    doubled = sorted({name for name in header if header.count(name) > 1 and name})
    if doubled:
        return RowProblem(
            row, ", ".join(doubled), "stands in the header twice", "Give every column its own name."
        )
    return RowProblem(
        row, "", "a column of the header has no name", "Name every column, or clear what is empty."
    )


class _ErrorValue(str):
    """What a formula that failed shows, such as #N/A."""


def _displayed(cell: Any) -> Any:
    """A cell's value as the sheet shows it: whole numbers without a point, days without midnight, ids with their
    leading zeros."""
    value = cell.value
    match value:
        case None | str():
            return _ErrorValue(value) if value and cell.data_type == "e" else value
        case bool():
            return "TRUE" if value else "FALSE"
        case datetime():
            midnight = value.time() == time.min
            return value.date().isoformat() if midnight else value.isoformat(" ", "seconds")
        case date() | time():
            return value.isoformat()
        case timedelta():
            return str(value)
        case int() | float():
            return _displayed_number(value, cell.number_format or "")
    return str(value)


def _displayed_number(value: float, number_format: str) -> int | float | str:
    """Excel keeps 15 digits: what a binary fraction adds behind them, nobody wrote."""
    number = float(format(value, ".15g"))
    if number.is_integer() and abs(number) < 1e15:
        whole = int(number)
        if _LEADING_ZEROS.match(number_format) and whole >= 0:
            return f"{whole:0{len(number_format)}d}"
        return whole
    return number


# Opening, bounded


@contextmanager
def _opened(source: Path) -> Iterator[Any]:
    """The workbook, read-only. Raises _Unreadable."""
    import openpyxl  # takes a tenth of a second: whoever reads no workbook does not wait for it
    from openpyxl.utils.exceptions import InvalidFileException

    _check_archive(source)
    damage = (zipfile.BadZipFile, KeyError, ValueError, TypeError, SyntaxError, EOFError, OSError)
    with source.open("rb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and extensions that are of no matter to values
        try:
            workbook = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
        except (*damage, AttributeError, IndexError, InvalidFileException) as error:
            raise _Unreadable(f"cannot be read as an Excel workbook ({error})", SAVE_AGAIN) from error
        try:
            yield workbook
        finally:
            workbook.close()


def _readable(rows: Iterator[Any]) -> Iterator[Any]:
    """The rows; a damaged sheet raises the same error as a damaged workbook."""
    try:
        yield from rows
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, SyntaxError, EOFError, IndexError) as error:
        raise _Unreadable(f"is damaged: {str(error)[:200]}; nothing after it was read", SAVE_AGAIN) from error


def _check_archive(source: Path) -> None:
    """The stated sizes are limits: zipfile never reads past them."""
    try:
        with zipfile.ZipFile(source) as archive:
            entries = archive.infolist()
    except (OSError, zipfile.BadZipFile, ValueError) as error:
        raise _Unreadable(f"cannot be read as an Excel workbook ({error})", SAVE_AGAIN) from error
    if any(entry.flag_bits & 0x1 for entry in entries):
        raise _Unreadable("is protected by a password", "Save it without one.")
    total = sum(entry.file_size for entry in entries)
    bytes_in_memory = sum(entry.file_size for entry in entries if "/worksheets/" not in f"/{entry.filename}")
    if (
        len(entries) > MAX_ENTRIES
        or bytes_in_memory > MAX_HELD_BYTES
        or total > MAX_UNPACKED_BYTES
        or total > max(RATIO_FROM_BYTES, MAX_COMPRESSION_RATIO * source.stat().st_size)
    ):
        problem = f"unpacks to {total / 1e6:,.0f} MB, which is more than a workbook may (zip bomb)"
        raise _Unreadable(problem, "Save the table as CSV UTF-8, or split it.")


def _chosen_sheet(workbook: Any, name: str) -> Any:
    sheets = workbook.worksheets
    if not sheets:
        raise _Unreadable("has no sheet of cells", SAVE_AGAIN)
    if not name:
        return sheets[0]
    for sheet in sheets:
        if sheet.title == name:
            return sheet
    known = ", ".join(repr(sheet.title) for sheet in sheets[:20])
    raise _Unreadable(f"has no sheet {name!r}", f"Use one of {known}.")


def _check_sheet(source: Path, sheet: Any) -> str:
    """The first cell with a formula that has no result, or "". Raises _Unreadable for a row that never ends."""
    with zipfile.ZipFile(source) as archive, archive.open(sheet._worksheet_path) as file:
        tail, since_row = b"", 0
        while chunk := file.read(_CHUNK):
            window = tail + chunk
            if match := _NO_RESULT.search(window):
                return match[1].decode()
            starts = list(_ROW_START.finditer(chunk))
            since_row = len(chunk) - starts[-1].start() if starts else since_row + len(chunk)
            if since_row > source_files.MAX_LINE_BYTES:
                megabytes = source_files.MAX_LINE_BYTES // 1024**2
                raise _Unreadable(f"has a row of more than {megabytes} MB", SAVE_AGAIN)
            tail = window[-_LONGEST_CELL:]
    return ""
