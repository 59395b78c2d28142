"""Tables in Parquet: their rows, what cannot stand in a cell, sounds inside, and files that are not whole."""

from __future__ import annotations

import datetime
from functools import partial

import pyarrow as pa
import pytest

from annotation.audio.errors import AudioError
from annotation.importing.formats import parquet_files
from annotation.importing.formats.parquet_files import PackedAudioReader
from annotation.importing.records import PackedAudio, RowProblem
from tests.annotation.importing.formats import reading, tables
from tests.annotation.importing.formats.reading import faults

read = partial(reading.read, "parquet", protocol="orca")


@pytest.fixture
def path(tmp_path):
    return (tmp_path / "table.parquet").resolve()


def values(path) -> list[dict]:
    return [entry[1] for entry in parquet_files.parquet_rows(path)]


def test_rows_hold_texts_numbers_and_dates_as_written(path):
    columns = {
        "item_id": ["a", "b", None],
        "stratum.style": pa.array(["rock", "jazz", "rock"]).dictionary_encode(),
        "value": [1, None, 3],
        "at": pa.array([datetime.date(2026, 1, 2), None, None]),
        "nothing": pa.nulls(3),
    }
    assert list(parquet_files.parquet_rows(tables.write(path, columns)))[:2] == [
        ("1", {"item_id": "a", "stratum.style": "rock", "value": 1, "at": "2026-01-02", "nothing": None}),
        ("2", {"item_id": "b", "stratum.style": "jazz", "value": None, "at": None, "nothing": None}),
    ]


def test_lists_objects_and_bytes_are_named_by_whoever_needs_the_column(path):
    unread = {"answer": [["x"]], "prompt": [{"x": 1}], "reference": [b"x"]}
    tables.write(path, {"item_id": ["a"], "system": ["s"], **unread})
    problems = faults(read(path))
    assert [(p.field, p.problem) for p in problems] == [
        ("answer", "holds a list"),
        ("prompt", "holds an object"),
        ("reference", "holds bytes"),
    ]
    assert '--map "answer="' in problems[0].remedy
    assert not faults(read(path, **dict.fromkeys(unread, "")))


def test_ids_that_a_gap_made_floats_are_the_ids_they_were(path):
    columns = {
        "item_id": [1.0, 2.0],
        "system": ["s", "s"],
        "answer": [7.5, 3e20],
        "rater_id": [7.0, None],
        "question": ["correctness"] * 2,
        "value": [1.0, 2.0],
    }
    tables.write(path, columns)
    records = read(path)
    assert [record.item.external_id for record in records] == ["1", "2"]
    assert [record.candidates[0].text for record in records] == ["7.5", "3e+20"]
    assert [record.judgments[0].rater for record in records] == ["7", ""]


def test_what_is_not_a_number_is_a_problem_of_its_row(path):
    columns = {"item_id": ["a", "b"], "system": ["s", "s"], "answer": ["x", "y"]}
    tables.write(path, {**columns, "reference": [float("nan"), None]})
    problem, record = read(path)
    assert (problem.row, problem.field, problem.problem) == ("1", "reference", "holds NaN")
    assert record.item.external_id == "b"


def test_numbers_that_stand_for_labels_are_read_as_these(path):
    labels = {"_type": "ClassLabel", "names": ["rock", "jazz"]}
    tables.write(path, {"genre": [1, 0, None, 7]}, features={"genre": labels})
    assert [row["genre"] for row in values(path)] == ["jazz", "rock", None, None]


def test_a_picture_is_no_sound(path):
    tables.write(path, {"image": tables.sounds(b"x")}, features={"image": {"_type": "Image"}})
    assert values(path) == [{"image": {}}]


def test_sounds_inside_are_only_named(path):
    tables.write(path, {"audio": tables.sounds(b"one", None, b"three")})
    first, third = (PackedAudio(path, row, "audio") for row in (0, 2))
    assert [row["audio"] for row in values(path)] == [first, None, third]


def test_sounds_beside_the_file_are_named_by_their_path(path):
    tables.write(path, {"audio": pa.array([{"bytes": None, "path": "a.wav"}], tables.AUDIO)})
    assert values(path) == [{"audio": "a.wav"}]


def test_sounds_are_unpacked_in_any_order(path):
    contents = [bytes([number]) * 100 for number in range(9)]
    tables.write(path, {"audio": tables.sounds(*contents), "other": tables.sounds(*reversed(contents))})
    unpacker = PackedAudioReader()
    for row in (0, 1, 8, 3, 3, 2):
        assert unpacker.read(PackedAudio(path, row, "audio")) == contents[row]
        assert unpacker.read(PackedAudio(path, row, "other")) == contents[8 - row]


@pytest.mark.parametrize(("row", "said"), [(1, "holds no sound"), (7, "fewer rows"), (-1, "fewer rows")])
def test_a_sound_that_is_not_there_is_told_by_its_row(path, row, said):
    tables.write(path, {"audio": tables.sounds(b"one", None)})
    with pytest.raises(AudioError, match=said) as caught:
        PackedAudioReader().read(PackedAudio(path, row, "audio"))
    assert f"audio of row {row + 1} in table.parquet" in caught.value.message


def test_sounds_among_too_many_are_refused(path, monkeypatch):
    monkeypatch.setattr(parquet_files, "MAX_AUDIO_CHUNK_BYTES", 10)
    tables.write(path, {"audio": tables.sounds(b"x" * 1000)})
    with pytest.raises(AudioError, match="row_group_size"):
        PackedAudioReader().read(PackedAudio(path, 0, "audio"))


def test_a_file_that_was_cut_off_is_refused(path):
    tables.write(path, {"a": ["x"] * 100})
    whole = path.read_bytes()
    for length in (0, 3, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        (problem,) = parquet_files.parquet_rows(path)
        assert "not a whole Parquet file" in problem.problem
        assert problem.remedy == parquet_files.WRITE_AGAIN


def test_a_file_that_is_damaged_inside_is_told_where_it_ends(path):
    tables.write(path, {"a": [f"text {number}" for number in range(4000)]}, row_group_size=2000)
    damaged = bytearray(path.read_bytes())
    middle = len(damaged) // 2
    damaged[middle : middle + 2000] = b"\xff" * 2000
    path.write_bytes(damaged)
    *read, problem = parquet_files.parquet_rows(path)
    assert isinstance(problem, RowProblem)
    assert problem.row == (str(len(read) + 1) if read else "")


def test_what_git_left_out_is_named(path):
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    (problem,) = parquet_files.parquet_rows(path)
    assert "git lfs pull" in problem.remedy


def test_a_few_bytes_that_say_much_are_read_a_few_rows_at_a_time(path, monkeypatch):
    """200,000 rows of one text of 1 MB are 200 GB to whoever spells them out."""
    monkeypatch.setattr(parquet_files, "MAX_BATCH_BYTES", 10_000_000)
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 200_000, pa.int32()), pa.array(["x" * 1_000_000]))
    tables.write(path, {"prompt": texts}, row_group_size=200_000)
    assert path.stat().st_size < 1_000_000
    before = pa.total_allocated_bytes()
    rows = parquet_files.parquet_rows(path)
    for _ in range(100):
        assert len(next(rows)[1]["prompt"]) == 1_000_000
    assert pa.total_allocated_bytes() - before < 50_000_000


@pytest.mark.parametrize(
    ("module", "limit", "words"),
    [
        pytest.param(
            parquet_files, "MAX_ROW_GROUP_BYTES", parquet_files.SMALLER_ROW_GROUPS, id="a group of rows"
        ),
        pytest.param(parquet_files.source_files, "MAX_LINE_BYTES", "a cell of a", id="a cell"),
    ],
)
def test_what_is_larger_than_memory_is_refused(path, monkeypatch, module, limit, words):
    monkeypatch.setattr(module, limit, 50)
    tables.write(path, {"a": ["x" * 100]})
    (problem,) = parquet_files.parquet_rows(path)
    assert words in f"{problem.problem} {problem.remedy}"
