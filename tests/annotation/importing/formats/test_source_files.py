"""Lines without an end, text in other encodings, and what a cell of an audio column may name."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from annotation.importing.formats import csv_files, json_files, source_files
from annotation.importing.records import RemoteAudio, RowProblem
from tests.annotation.importing.formats import sounds

GIGABYTES = 5 * 1024**3


def problems(entries) -> list[RowProblem]:
    return [entry for entry in entries if isinstance(entry, RowProblem)]


def endless(path: Path, start: bytes = b"") -> Path:
    """A file whose first line goes on for gigabytes; the disk keeps none of them."""
    with path.open("wb") as file:
        file.write(start)
        file.truncate(GIGABYTES)
    return path


@pytest.mark.parametrize(
    ("read", "start"),
    [
        (json_files.json_lines, b'{"a": "'),
        (csv_files.csv_rows, b"item_id,prompt\n"),
        (csv_files.csv_rows, b""),
    ],
)
def test_a_line_of_gigabytes_is_refused_without_being_held(tmp_path, read, start):
    path = endless(tmp_path / "long", start)
    tracemalloc.start()
    (problem,) = problems(read(path))
    assert tracemalloc.get_traced_memory()[1] < 4 * source_files.MAX_LINE_BYTES
    tracemalloc.stop()
    assert "longer than 16 MB" in problem.problem
    assert problem.row == ("2" if b"\n" in start else "1")
    assert problem.remedy


def test_an_open_quote_over_many_lines_is_refused_where_it_begins(tmp_path):
    path = tmp_path / "open.csv"
    path.write_bytes(b'item_id,prompt\ni1,fine\ni2,"never closed\n' + b"more, and more\n" * 20_000)
    (problem,) = problems(csv_files.csv_rows(path))
    assert (problem.row, "quote" in problem.remedy) == ("3", True)


def test_a_folder_is_listed_once_however_many_sounds_it_lacks(tmp_path, monkeypatch):
    sounds.tone(tmp_path / "Waltz.wav")
    listed: list[object] = []
    real = os.scandir
    monkeypatch.setattr(os, "scandir", lambda folder: listed.append(folder) or real(folder))
    told = [source_files.resolve_below(tmp_path, f"{n}.wav", row="1", field="audio") for n in range(20)]
    told.append(source_files.resolve_below(tmp_path, "waltz.wav", row="1", field="audio"))
    assert len(listed) == 1
    assert [entry.problem for entry in told[-2:]] == [
        "19.wav is not there",
        "waltz.wav is not there, but Waltz.wav is",
    ]


def test_a_folder_that_has_changed_is_listed_anew(tmp_path):
    source_files.resolve_below(tmp_path, "waltz.wav", row="1", field="audio")
    sounds.tone(tmp_path / "Waltz.wav")
    os.utime(tmp_path, ns=(1, 1))
    assert (
        "but Waltz.wav is"
        in source_files.resolve_below(tmp_path, "waltz.wav", row="1", field="audio").problem
    )


def test_a_row_of_cells_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(source_files, "MAX_LINE_BYTES", 10_000)
    path = tmp_path / "wide.csv"
    path.write_bytes(b"a,b\n" + b'"x\n",' * 5_000)
    assert "the row that ends here" in problems(csv_files.csv_rows(path))[0].problem


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("read", [json_files.json_lines, csv_files.csv_rows])
def test_utf_16_is_named(tmp_path, encoding, read):
    path = tmp_path / "table"
    path.write_text('{"a": 1}\n', encoding=encoding)
    (problem,) = problems(read(path))
    assert "UTF-16" in problem.problem
    assert problem.remedy == source_files.SAVE_AS_UTF8


@pytest.mark.parametrize(
    ("start", "said"),
    [(b"PK\x03\x04rest", "Excel"), (b"\x1f\x8b\x08rest", "gzip"), (b"PAR1rest", "Parquet")],
)
def test_what_is_no_text_is_named(tmp_path, start, said):
    path = tmp_path / "study.csv"
    path.write_bytes(start)
    (problem,) = problems(csv_files.csv_rows(path))
    assert said in problem.problem
    assert problem.remedy


def test_latin_1_is_told_by_line_and_byte(tmp_path):
    path = tmp_path / "table.jsonl"
    path.write_bytes(b'{"a": "ok"}\n' + '{"a": "café"}\n'.encode("latin-1") + b'{"a": "ok"}\n')
    first, problem, last = json_files.json_lines(path)
    assert (first[0], problem.row, last[0]) == ("1", "2", "3")
    assert "byte 11 of the line, 0xe9" in problem.problem


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"a": 1, "a": 2}', "names 'a' twice"),
        (b'{"a": {"b": 1, "b": 2}}', "names 'b' twice"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": -Infinity}', "-Infinity"),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        (b'{"a": ' + b"9" * 5_000 + b"}", "thousands of digits"),
        (b'{"a": 1}\r{"a": 2}', "not JSON"),
        (b'{"a": "cut', "at: character 11"),
        (b'{"a": "tab\there"}', "not JSON"),
        (b"[1]", "not a JSON object"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_json_that_could_be_read_in_two_ways_or_none_is_refused(tmp_path, line, said):
    path = tmp_path / "table.jsonl"
    path.write_bytes(b'{"a": "one: two"}\n' + line + b"\n")
    _, problem = json_files.json_lines(path)
    assert (problem.row, said in problem.problem) == ("2", True)
    assert problem.remedy


def test_large_numbers_are_kept_to_the_last_digit(tmp_path):
    path = tmp_path / "table.jsonl"
    path.write_text('{"id": 123456789012345678901234567890, "n": 18446744073709551616}\n')
    [(_, entry)] = json_files.json_lines(path)
    assert entry == {"id": 123456789012345678901234567890, "n": 2**64}


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_lines_may_end_as_on_any_system(tmp_path, ending):
    path = tmp_path / "table.csv"
    path.write_bytes(ending.join([b"item_id,prompt", b'i1,"two\nlines"', b"i2,=1+1", b""]))
    assert [entry for _, entry in csv_files.csv_rows(path)] == [
        {"item_id": "i1", "prompt": "two\nlines"},
        {"item_id": "i2", "prompt": "=1+1"},
    ]


def test_carriage_returns_alone_are_named(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"item_id,prompt\ri1,x\r")
    (problem,) = problems(csv_files.csv_rows(path))
    assert "line feed" in problem.remedy


@pytest.mark.parametrize(
    ("header", "said"),
    [("a,b,a", "stands in the header twice"), ("a;b;c", "semicolons"), ("a\tb", "tabs"), ("", "no header")],
)
def test_a_header_that_cannot_be_meant_is_told(tmp_path, header, said):
    path = tmp_path / "table.csv"
    path.write_text(f"{header}\n1,2,3\n")
    (problem,) = problems(csv_files.csv_rows(path))
    assert (problem.row, said in problem.problem) == ("1", True)


def test_tabs_separate_a_tsvs_cells(tmp_path):
    path = tmp_path / "table.tsv"
    path.write_text("item_id\tprompt\ni1\tA waltz, slow\n")
    assert list(csv_files.tsv_rows(path)) == [("2", {"item_id": "i1", "prompt": "A waltz, slow"})]


@pytest.mark.parametrize(
    "address",
    ["https://host.example/a.wav", "http://host.example:8080/a%20b.wav?x=1", "S3://bucket/key/a.wav"],
)
def test_an_address_is_left_to_be_fetched(tmp_path, address):
    assert source_files.resolve_audio(tmp_path, address, row="1", field="audio") == RemoteAudio(address)


@pytest.mark.parametrize(
    "address",
    ["https://", "https:///a.wav", "s3://bucket", "https://host/a b.wav", "https://h/" + "a" * 2000],
)
def test_half_an_address_is_refused(tmp_path, address):
    problem = source_files.resolve_audio(tmp_path, address, row="7", field="audio")
    assert isinstance(problem, RowProblem)
    assert (problem.row, problem.field, "no address" in problem.problem) == ("7", "audio", True)


@pytest.mark.parametrize(
    "name", ["file:///etc/passwd", "ftp://host/a.wav", "../a.wav", "/etc/passwd", "a" * 5000]
)
def test_nothing_else_is_an_address_or_outside_the_folder(tmp_path, name):
    assert isinstance(source_files.resolve_audio(tmp_path, name, row="1", field="audio"), RowProblem)


def test_a_link_out_of_the_folder_and_one_in_a_circle_are_refused(tmp_path):
    folder = tmp_path / "study"
    folder.mkdir()
    sounds.tone(tmp_path / "secret.wav")
    (folder / "out.wav").symlink_to(tmp_path / "secret.wav")
    (folder / "round.wav").symlink_to(folder / "round.wav")
    assert "outside" in source_files.resolve_below(folder, "out.wav", row="1", field="audio").problem
    assert isinstance(source_files.resolve_below(folder, "round.wav", row="1", field="audio"), RowProblem)


@pytest.mark.parametrize("name", ["\ud800.wav", "x" * 3000, "\0.wav"])
def test_a_name_that_no_disk_takes_is_told(tmp_path, name):
    assert source_files.resolve_below(tmp_path, name, row="1", field="audio").remedy == "Mend the path."


def test_a_name_in_other_capitals_is_pointed_out(tmp_path):
    sounds.tone(tmp_path / "Waltz.wav")
    problem = source_files.resolve_below(tmp_path, "waltz.WAV", row="1", field="audio")
    assert problem.problem == "waltz.WAV is not there, but Waltz.wav is"
