"""Excel workbooks: values as the sheet shows them, sheets, and workbooks that must not be opened."""

from __future__ import annotations

import zipfile
from datetime import date, datetime, time
from pathlib import Path

import openpyxl
import pytest

from annotation.importing.formats import xlsx_files
from annotation.importing.formats.columns import read_cell
from annotation.importing.formats.detection import detect_format
from annotation.importing.records import RowProblem


@pytest.fixture
def workbook(tmp_path: Path):
    def write(*rows: list, sheet: str = "Clips", formats: dict[str, str] | None = None) -> Path:
        book = openpyxl.Workbook()
        book.active.title = sheet
        for row in rows:
            book.active.append(row)
        for cell, number_format in (formats or {}).items():
            book.active[cell].number_format = number_format
        book.create_sheet("Notes").append(["nothing"])
        book.save(tmp_path / "table.xlsx")
        return tmp_path / "table.xlsx"

    return write


def cells(path: Path, **options) -> list[dict[str, str]]:
    """As an import reads them."""
    return [
        {name: read_cell(row, name, value) for name, value in values.items()}
        for row, values in xlsx_files.xlsx_rows(path, **options)
    ]


def test_values_are_those_that_a_person_sees(workbook):
    path = workbook(
        ["id", "share", "day", "at", "clock", "yes", "text", "code"],
        [7, 0.1 + 0.2, date(2026, 11, 23), datetime(2026, 11, 23, 8, 5), time(8, 5), True, " a ", 7],
        formats={"H2": "000"},
    )
    assert cells(path) == [
        {"id": "7", "share": "0.3", "day": "2026-11-23", "at": "2026-11-23 08:05:00", "clock": "08:05:00",
         "yes": "TRUE", "text": "a", "code": "007"}
    ]  # fmt: skip


def test_rows_keep_their_numbers_and_empty_ones_are_passed_over(workbook):
    path = workbook([], ["id", "prompt"], [], ["a", None], ["b", "x"])
    assert [row for row, _ in xlsx_files.xlsx_rows(path)] == ["4", "5"]
    assert cells(path) == [{"id": "a", "prompt": ""}, {"id": "b", "prompt": "x"}]


def test_a_sheet_is_the_first_or_the_one_that_is_named(workbook):
    path = workbook(["id"], ["a"])
    assert xlsx_files.sheet_names(path) == ("Clips", "Notes")
    assert cells(path, sheet="Clips") == [{"id": "a"}]
    (fault,) = xlsx_files.xlsx_rows(path, sheet="Other")
    assert ("has no sheet 'Other'" in fault.problem, "'Clips', 'Notes'" in fault.remedy) == (True, True)
    assert detect_format(path) == ("xlsx", "It is an Excel workbook.")


@pytest.mark.parametrize(
    ("rows", "row", "field", "words"),
    [
        ([["id", "n"], ["a", "=1+1"]], "2", "B2", "formula without its result"),
        ([["id", "id"], ["a", "b"]], "1", "id", "stands in the header twice"),
        ([["id", None, "n"], ["a", "b", "c"]], "1", "", "has no name"),
        ([["id"], ["a", "b"]], "2", "", "has 2 cells, the header has 1"),
        ([], "1", "", "is empty"),
        ([["id", "n"], ["a", "#N/A"]], "2", "n", "holds the error #N/A"),
    ],
)
def test_what_cannot_be_meant_names_its_cell_and_the_remedy(workbook, rows, row, field, words):
    fault = next(entry for entry in xlsx_files.xlsx_rows(workbook(*rows)) if isinstance(entry, RowProblem))
    assert (fault.row, fault.field, words in fault.problem) == (row, field, True)
    assert fault.remedy


def packed(path: Path, **parts: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name.replace("__", "/") + ".xml", content)
    return path


def test_a_zip_bomb_is_refused_before_it_is_opened(tmp_path, monkeypatch):
    monkeypatch.setattr(xlsx_files, "RATIO_FROM_BYTES", 1000)
    path = packed(tmp_path / "bomb.xlsx", xl__workbook=b"<x/>", xl__worksheets__sheet1=b" " * 5_000_000)
    (fault,) = xlsx_files.xlsx_rows(path)
    assert "zip bomb" in fault.problem


def test_a_row_without_end_is_refused(workbook, monkeypatch):
    path = workbook(["id"], ["x" * 30_000], ["a"])
    monkeypatch.setattr(xlsx_files.source_files, "MAX_LINE_BYTES", 100)
    assert "has a row of more than" in next(xlsx_files.xlsx_rows(path)).problem


@pytest.mark.parametrize("content", [b"<x/>", b"", b"<workbook><!ENTITY"])
def test_damage_is_told(tmp_path, content):
    (fault,) = xlsx_files.xlsx_rows(packed(tmp_path / "x.xlsx", xl__workbook=content))
    assert ("cannot be read as an Excel workbook" in fault.problem, bool(fault.remedy)) == (True, True)
