"""Encodings and separators: read as they are, and said."""

from __future__ import annotations

import pytest

from annotation.importing.formats import csv_files
from annotation.importing.formats.detection import detect_format
from annotation.importing.formats.dialects import detect_dialect
from annotation.importing.formats.source_files import ReadPosition
from annotation.importing.records import RowProblem

GERMAN = "id;Anmerkung\n1;Ein schöner Walzer, für Grüße\n2;Süße Töne\n"
CHINESE = "id,prompt\n1,一首缓慢的华尔兹\n2,钢琴独奏，忧伤\n"


@pytest.mark.parametrize(
    ("text", "written", "encoding", "separator"),
    [
        (GERMAN, "utf-8", "utf-8", ";"),
        (GERMAN, "utf-8-sig", "utf-8", ";"),
        (GERMAN, "latin-1", "latin-1", ";"),
        (GERMAN + "3;„Zitat“ – 5 €\n", "windows-1252", "windows-1252", ";"),
        (GERMAN, "utf-16", "utf-16-le", ";"),
        (CHINESE, "utf-16-be", "utf-16-be", ","),
        (CHINESE, "utf-8", "utf-8", ","),
        (CHINESE, "gb18030", "gb18030", ","),
        ("id\tprompt\n1\tA waltz, slow\n", "utf-8", "utf-8", "\t"),
        ("id|prompt\n1|A waltz; slow\n", "utf-8", "utf-8", "|"),
        ('id,prompt\n1,"a;b;c"\n2,"d;e;f"\n', "utf-8", "utf-8", ","),
        ("sep=;\nid;prompt\n1;A\n", "utf-8", "utf-8", ";"),
        ("id\n1\n", "utf-8", "utf-8", ","),
        ("", "utf-8", "utf-8", ","),
    ],
)
def test_a_table_is_read_as_it_is_written(tmp_path, text, written, encoding, separator):
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode(written))
    dialect = detect_dialect(path)
    assert (dialect.encoding, dialect.separator) == (encoding, separator)
    lines = [line for line in text.splitlines() if not line.startswith("sep=")]
    rows = [entry[1] for entry in csv_files.csv_rows(path) if not isinstance(entry, RowProblem)]
    if "|" not in text and '"' not in text:
        assert [list(row.values()) for row in rows] == [line.split(separator, 1) for line in lines[1:]]


def test_one_broken_line_does_not_change_how_all_others_are_read(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes("id,prompt\n1,Töne für Grüße\n".encode() + "2,schön\n".encode("latin-1"))
    first, fault = csv_files.csv_rows(path)
    assert first == ("2", {"id": "1", "prompt": "Töne für Grüße"})
    assert (fault.row, "name the encoding" in fault.remedy) == ("3", True)


def test_what_is_named_counts_more_than_what_it_looks_like(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes("id;prompt\n1;Ж,ж\n".encode("windows-1251"))
    rows = csv_files.csv_rows(path, encoding="windows-1251", delimiter=";")
    assert list(rows) == [("2", {"id": "1", "prompt": "Ж,ж"})]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "latin-1"])
def test_reading_goes_on_where_it_stopped(tmp_path, encoding):
    """Characters whose bytes hold a line feed's do not end a line."""
    path = tmp_path / "table.csv"
    letters = "é" if encoding == "latin-1" else "Ċਊ"  # 0x010A, 0x0A0A
    path.write_bytes("".join(["id,prompt\n", *(f"{n},{letters}{n}\n" for n in range(5))]).encode(encoding))
    place = ReadPosition()
    for _row, values in csv_files.csv_rows(path, place, encoding=encoding):
        if values["id"] == "2":
            break
    stored = place.to_json()
    stored.pop("told")
    rest = csv_files.csv_rows(
        path, ReadPosition(**{**stored, "header": tuple(stored["header"])}), encoding=encoding
    )
    assert [values["prompt"] for _, values in rest] == [f"{letters}{n}" for n in (2, 3, 4)]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("photo.csv", b"\x89PNG\r\n\x1a\n" + b"\0" * 20, "is a picture (PNG)"),
        ("photo.csv", b"\xff\xd8\xff\xe0" + b"\0" * 20, "is a picture (JPEG)"),
        ("paper.csv", b"%PDF-1.7\n", "is a PDF document"),
        ("page.csv", b"<!DOCTYPE html><html>", "is a web page"),
        ("old.csv", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "before 2007"),
        ("clip.csv", b"RIFF\x10\0\0\0WAVEfmt ", "is a sound alone (WAV)"),
        ("noise.csv", bytes(range(32)) * 20, "is no text"),
        ("nothing.csv", b"", "is empty"),
    ],
    ids=lambda value: str(value)[:12],
)
def test_what_is_no_table_is_named_for_what_it_is(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    found = detect_format(tmp_path / name)
    assert isinstance(found, RowProblem)
    assert words in found.problem
    assert found.remedy
