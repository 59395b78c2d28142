"""The ORCA layout: what becomes of ratings and feedback, and every row it refuses."""

from __future__ import annotations

import pytest

from annotation.importers import RowProblem, TaskRecord, orca
from annotation.protocols import preset


def read(path):
    return list(orca.read(path, preset("orca"), {}))


def problems(path):
    return [(p.row, p.field) for p in read(path) if isinstance(p, RowProblem)]


def test_a_key_names_the_item_and_the_system(orca_file):
    [record] = read(orca_file({"clip_07_M2_1": {}}))
    assert isinstance(record, TaskRecord)
    assert (record.item.external_id, record.candidates[0].system) == ("clip_07", "M2_1")
    assert record.external_id == "clip_07_M2_1"


def test_each_rating_is_a_judgment_of_somebody_unnamed(orca_file):
    [record] = read(orca_file({"x_M1_0": {"ratings": [1, 5, 5], "feedback": [None, None, None]}}))
    assert [j.rater for j in record.judgments] == ["", "", ""]
    assert [j.answers[0].value for j in record.judgments] == [1.0, 5.0, 5.0]


def test_letters_are_codes_and_sentences_are_remarks(orca_file):
    said = [["a", "E"], ["r", "The reference is a guess."]]
    [record] = read(orca_file({"x_M1_0": {"feedback": said}}))
    assert [j.codes for j in record.judgments] == [("A", "E"), ("R",)]
    assert [j.comment for j in record.judgments] == ["", "The reference is a guess."]


def test_feedback_without_a_rating_is_kept_and_an_empty_place_is_nobody(orca_file):
    [record] = read(orca_file({"x_M1_0": {"ratings": [None, None], "feedback": [["e"], None]}}))
    assert [(j.codes, j.answers) for j in record.judgments] == [(("E",), ())]


def test_a_folder_is_all_its_files(orca_file, tmp_path):
    orca_file({"x_M1_0": {}}, "train.json")
    orca_file({"y_M1_0": {}}, "test.json")
    assert {record.external_id for record in read(tmp_path)} == {"x_M1_0", "y_M1_0"}


@pytest.mark.parametrize(
    ("entry", "field"),
    [
        ({"ratings": [6, 5]}, "ratings[0]"),
        ({"ratings": [4, 2.5]}, "ratings[1]"),
        ({"ratings": [True, 5]}, "ratings[0]"),
        ({"feedback": [None, ["z"]]}, "feedback[1]"),
        ({"feedback": [None]}, "feedback"),
        ({"ratings": "45"}, "feedback"),
        ({"question": 7}, "question"),
        ({"audio": "gone.wav"}, "audio"),
        ({"audio": "../outside.wav"}, "audio"),
    ],
)
def test_a_bad_entry_is_reported_with_its_field(orca_file, entry, field):
    assert problems(orca_file({"good_M1_0": {}, "bad_M1_0": entry})) == [("train.json #2", field)]


def test_it_goes_on_after_a_bad_entry(orca_file):
    path = orca_file({"a_M1_0": {"ratings": [9, 9]}, "b_M1_0": {}, "no-system": {}})
    assert problems(path) == [
        ("train.json #1", "ratings[0]"),
        ("train.json #1", "ratings[1]"),
        ("train.json #3", "key"),
    ]
    assert [r.external_id for r in read(path) if isinstance(r, TaskRecord)] == ["b_M1_0"]


def test_a_missing_field_is_reported(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"x_M1_0": {"question": "Q", "reference": "R", "ratings": []}}')
    assert problems(path) == [("x.json #1", "candidate")]


@pytest.mark.parametrize("content", [b"[1, 2]", b"{broken", b'{"x_M1_0": "\xff"}', b""])
def test_a_file_of_another_kind_is_one_problem(tmp_path, content):
    (tmp_path / "x.json").write_bytes(content)
    assert [row for row, _ in problems(tmp_path / "x.json")] == ["x.json"]


def test_an_empty_folder_is_a_problem(tmp_path):
    assert len(problems(tmp_path)) == 1


def test_two_entries_with_one_key_are_both_seen(tmp_path):
    entry = '{"question": "Q", "reference": "R", "candidate": "C", "ratings": []}'
    (tmp_path / "x.json").write_text(f'{{"x_M1_0": {entry}, "x_M1_0": {entry}}}')
    assert len(read(tmp_path / "x.json")) == 2
