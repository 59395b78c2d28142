"""Tables in JSON: a list of objects, an object of lists, and what is neither."""

from __future__ import annotations

import json
import tracemalloc

import pytest

from annotation.importing.formats import json_files
from annotation.importing.records import RowProblem


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
