"""Lines without an end, other encodings, what a cell of an audio column may name, YAML of strangers, JSON tables."""

from __future__ import annotations

import json
import math
import os
import tracemalloc
from pathlib import Path

import pytest
import yaml

from annotation.importing.formats import csv_files, json_files, source_files
from annotation.importing.records import RemoteAudio, RowProblem
from tests.annotation.importing.formats import sounds
from tests.annotation.importing.formats.reading import faults

GIGABYTES = 5 * 1024**3


def resolve(folder: Path, name: str):
    return source_files.resolve_audio(folder, name, row="7", field="audio")


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
    (problem,) = faults(read(path))
    assert tracemalloc.get_traced_memory()[1] < 4 * source_files.MAX_LINE_BYTES
    tracemalloc.stop()
    assert "longer than 16 MB" in problem.problem
    assert problem.row == ("2" if b"\n" in start else "1")
    assert problem.remedy


def test_a_folder_is_listed_once_however_many_sounds_it_lacks(tmp_path, monkeypatch):
    sounds.tone(tmp_path / "Waltz.wav")
    listed: list[object] = []
    real = os.scandir
    monkeypatch.setattr(os, "scandir", lambda folder: listed.append(folder) or real(folder))
    faults = [resolve(tmp_path, name) for name in (*(f"{n}.wav" for n in range(20)), "waltz.WAV")]
    assert len(listed) == 1
    assert faults[-2].problem == "19.wav is not there"
    assert faults[-1].problem == "waltz.WAV is not there, but Waltz.wav is"


def test_a_folder_that_has_changed_is_listed_anew(tmp_path):
    resolve(tmp_path, "waltz.wav")
    sounds.tone(tmp_path / "Waltz.wav")
    os.utime(tmp_path, ns=(1, 1))
    assert "but Waltz.wav is" in resolve(tmp_path, "waltz.wav").problem


def test_a_row_of_cells_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(source_files, "MAX_LINE_BYTES", 10_000)
    path = tmp_path / "wide.csv"
    path.write_bytes(b"a,b\n" + b'"x\n",' * 5_000)
    assert "the row that ends here" in faults(csv_files.csv_rows(path))[0].problem


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_lines_of_json_are_utf_8(tmp_path, encoding):
    path = tmp_path / "table"
    path.write_bytes('{"a": 1}\n'.encode(encoding))
    (fault,) = faults(json_files.json_lines(path))
    assert ("UTF-16" in fault.problem, fault.remedy) == (True, source_files.SAVE_AS_UTF8)


@pytest.mark.parametrize("read", [json_files.json_lines, csv_files.csv_rows])
@pytest.mark.parametrize(
    ("start", "name", "remedy"),
    [
        (b"PK\x03\x04rest", "Excel", "Save the table as CSV UTF-8."),
        (b"\x1f\x8b\x08rest", "gzip", "Unpack it first."),
        (b"PAR1rest", "Parquet", "Import it as parquet."),
    ],
)  # fmt: skip
def test_what_is_no_utf_8_text_is_named(tmp_path, read, start, name, remedy):
    path = tmp_path / "table"
    path.write_bytes(start)
    (fault,) = faults(read(path))
    assert (name in fault.problem, fault.remedy) == (True, remedy)


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


@pytest.mark.parametrize(
    ("table", "row", "words"),
    [
        ("a,b,a\n1,2,3\n", "1", "stands in the header twice"),
        ("a;b;c\n1,2,3\n", "2", "semicolons"),
        ("a\tb\n1,2,3\n", "2", "tabs"),
        ("\n1,2,3\n", "1", "no header"),
        pytest.param("item_id,prompt\ri1,x\r", "1", "line feed", id="carriage returns alone"),
        pytest.param('i,p\ni1,fine\ni2,"never closed\n' + "more, and more\n" * 20_000, "3", "quote", id="open quote"),
    ],
)  # fmt: skip
def test_a_table_that_cannot_be_meant_is_told_where_it_begins(tmp_path, table, row, words):
    path = tmp_path / "table.csv"
    path.write_bytes(table.encode())
    (fault,) = faults(csv_files.csv_rows(path))
    assert (fault.row, words in f"{fault.problem} {fault.remedy}") == (row, True)


def test_tabs_separate_a_tsvs_cells(tmp_path):
    path = tmp_path / "table.tsv"
    path.write_text("item_id\tprompt\ni1\tA waltz, slow\n")
    assert list(csv_files.tsv_rows(path)) == [("2", {"item_id": "i1", "prompt": "A waltz, slow"})]


@pytest.mark.parametrize(
    "address",
    ["https://host.example/a.wav", "http://host.example:8080/a%20b.wav?x=1", "S3://bucket/key/a.wav"],
)
def test_an_address_is_left_to_be_fetched(tmp_path, address):
    assert resolve(tmp_path, address) == RemoteAudio(address)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        *((address, "no address") for address in
          ("https://", "https:///a.wav", "s3://bucket", "https://host/a b.wav", "https://h/" + "a" * 2000)),
        ("file:///etc/passwd", "is not there"),
        ("ftp://host/a.wav", "is not there"),
        ("../a.wav", "outside"),
        ("/etc/passwd", "outside"),
        ("a" * 5000, "cannot be a file here"),
        ("\ud800.wav", "cannot be a file here"),
        ("\0.wav", "zero byte"),
    ],
    ids=lambda text: repr(text[:30]),
)  # fmt: skip
def test_nothing_else_is_an_address_or_outside_the_folder(tmp_path, name, words):
    fault = resolve(tmp_path, name)
    assert (fault.row, fault.field, words in fault.problem) == ("7", "audio", True)
    assert fault.remedy


def test_a_link_out_of_the_folder_and_one_in_a_circle_are_refused(tmp_path):
    folder = tmp_path / "study"
    folder.mkdir()
    sounds.tone(tmp_path / "secret.wav")
    (folder / "out.wav").symlink_to(tmp_path / "secret.wav")
    (folder / "round.wav").symlink_to(folder / "round.wav")
    assert "outside" in resolve(folder, "out.wav").problem
    assert isinstance(resolve(folder, "round.wav"), RowProblem)


def test_merges_that_copy_each_other_without_end_are_refused():
    levels = [f"m{n}: &m{n}\n  <<: [{f'*m{n - 1},' * 9}]\n" for n in range(1, 30)]
    with pytest.raises(yaml.YAMLError, match="merges too much"):
        source_files.load_yaml("m0: &m0 {x: 1}\n" + "".join(levels))


def test_a_merge_that_configurations_use_is_read():
    written = "base: &base {kind: radio}\nmine:\n  <<: *base\n  name: x\n"
    assert source_files.load_yaml(written)["mine"] == {"kind": "radio", "name": "x"}


def test_an_object_is_never_made():
    with pytest.raises(yaml.YAMLError):
        source_files.load_yaml("!!python/object/apply:os.system [true]")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("a", "a"),
        (7, "7"),
        (0.5, "0.5"),
        pytest.param(16**5000, "", id="larger than any"),
        (math.nan, ""),
        ([1], ""),
        ({"a": 1}, ""),
        (None, ""),
    ],
)
def test_only_texts_and_numbers_are_spelled_out(value, said):
    assert source_files.yaml_text(value) == said


# ── Tables in JSON ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def rows(tmp_path):
    def read(text: str | bytes) -> list:
        path = tmp_path / "table.json"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return list(json_files.json_rows(path))

    return read


TWO = [("1", {"id": "a", "n": 1}), ("2", {"id": "b", "n": None})]


@pytest.mark.parametrize(
    "text",
    [
        '[{"id": "a", "n": 1}, {"id": "b", "n": null}]',
        '\ufeff [\r\n{"id": "a", "n": 1}\r\n,{"id": "b", "n": null}\r\n]\r\n',
        '{"id": ["a", "b"], "n": [1, null]}',
    ],
)
def test_rows_are_objects_of_a_list_or_places_of_lists(rows, text):
    assert rows(text) == TWO


def test_a_list_is_not_held_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(json_files, "BLOCK_CHARACTERS", 10_000)
    path = tmp_path / "table.json"
    path.write_text(json.dumps([{"id": number, "prompt": "x" * 1000} for number in range(1000)]))
    tracemalloc.start()
    assert sum(1 for _ in json_files.json_rows(path)) == 1000
    assert tracemalloc.get_traced_memory()[1] < path.stat().st_size / 5
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("text", "row", "said"),
    [
        ('[{"a": 1}, {"a": 1, "a": 2}]', "2", "names 'a' twice"),
        ('[{"a": NaN}]', "1", "NaN"),
        ('[{"a": ' + "[" * 50_000 + "]" * 50_000 + "}]", "1", "nested too deeply"),
        ('[{"a": 1}, 7]', "2", "not an object"),
        ('[{"a": 1}, {"a": ', "table.json", "breaks off"),
        ('[{"a": 1}] []', "table.json", "something follows"),
        ('{"a": [1, 2], "b": [1]}', "", "different lengths (a: 2, b: 1)"),
        ('{"a": [1], "a": [2]}', "", "twice"),
        ('{"a": {"0": 1}}', "", "not a list of values"),
        ("7", "", "not a JSON list"),
        ("", "", "not a JSON list"),
        ('[{"a": 1}]'.encode("utf-16"), "", "UTF-16"),
        ('[{"a": "é"}]'.encode("latin-1"), "", "UTF-8"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_fault_is_told_and_ends_the_reading(rows, text, row, said):
    problem = rows(text)[-1]
    assert isinstance(problem, RowProblem)
    assert (problem.row, said in problem.problem) == (row, True), problem
    assert problem.remedy


@pytest.mark.parametrize(
    ("name", "limit", "text", "words"),
    [
        ("MAX_ENTRY_CHARACTERS", 1000, '[{"a": "' + "x" * 10_000, "longer than"),
        ("MAX_COLUMN_FILE_BYTES", 10, '{"a": [1, 2, 3, 4]}', json_files.AS_OBJECTS),
    ],
    ids=["an entry without end", "an object of lists, which is held"],
)
def test_what_would_take_any_memory_is_refused(rows, monkeypatch, name, limit, text, words):
    monkeypatch.setattr(json_files, "BLOCK_CHARACTERS", 100)
    monkeypatch.setattr(json_files, name, limit)
    (problem,) = rows(text)
    assert words in f"{problem.problem} {problem.remedy}"
