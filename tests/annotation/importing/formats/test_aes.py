"""The layout of Audiobox Aesthetics' ratings: what becomes of paths and lists, and every line it refuses."""

from __future__ import annotations

import json
from functools import partial

import pytest

from tests.annotation.importing.formats import reading, sounds
from tests.annotation.importing.formats.reading import problems, tasks

AXES = ("Production_Quality", "Production_Complexity", "Content_Enjoyment", "Content_Usefulness")
PATH = "/your_path/PAM/human_eval/audio/audiogen_m/bell.wav"
read = partial(reading.read, "aes", protocol="aes")


@pytest.fixture
def source(tmp_path):
    """Lines about clips; each is complete unless the test changes it."""

    def write(*lines: dict):
        complete = {"data_path": PATH, **{axis: [8.0, 0.0] for axis in AXES}}
        path = tmp_path / "AES_PAM.jsonl"
        path.write_text("\n".join(json.dumps({**complete, **line}) for line in lines))
        return path

    return write


def test_folders_name_the_system_and_the_text_it_was_given_unless_the_line_says_otherwise(source):
    named = {"item": "text 7", "system": "model-x"}
    records = read(source({}, {"data_path": PATH.replace("audiogen_m", "real")}, named))
    assert [record.candidates[0].system for record in records] == ["audiogen_m", "real", "model-x"]
    assert [record.item.external_id for record in records] == ["audio/bell", "audio/bell", "text 7"]
    assert records[0].item.strata == {"group": "audio"}
    assert records[0].external_id == "PAM/human_eval/audio/audiogen_m/bell.wav"


def test_a_place_of_the_four_lists_is_one_unnamed_judgment(source):
    [record] = read(source({axis: [place, place + 5] for place, axis in enumerate(AXES)}))
    assert [j.rater for j in record.judgments] == ["", ""]
    assert [[answer.value for answer in j.answers] for j in record.judgments] == [[0, 1, 2, 3], [5, 6, 7, 8]]
    assert {answer.question for answer in record.judgments[0].answers} == {axis.lower() for axis in AXES}


def test_null_is_an_answer_left_out_and_four_of_them_are_nobody(source):
    [record] = read(source({axis: [None, 3 if axis == AXES[0] else None] for axis in AXES}))
    assert [(j.key, [answer.value for answer in j.answers]) for j in record.judgments] == [("#1", [3])]


def test_sounds_below_the_file_are_taken_and_then_none_may_be_missing(source, tmp_path):
    path = source({}, {"data_path": PATH.replace("bell", "gone")})
    assert [record.candidates[0].audio for record in read(path)] == [None, None]
    sound = sounds.tone(tmp_path / "PAM/human_eval/audio/audiogen_m/bell.wav")
    assert problems(read(path)) == [("2", "data_path")]
    assert [record.candidates[0].audio for record in tasks(read(path))] == [sound]


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ({AXES[0]: [11, 5]}, [f"{AXES[0]}[0]"]),
        ({AXES[1]: [5, 2.5]}, [f"{AXES[1]}[1]"]),
        ({AXES[1]: [True, "7"]}, [f"{AXES[1]}[0]", f"{AXES[1]}[1]"]),
        ({AXES[2]: 5}, [AXES[2]]),
        ({AXES[3]: [5]}, [", ".join(AXES)]),
        ({"data_path": ""}, ["data_path"]),
        ({"data_path": "bell.wav"}, ["data_path"]),
    ],
)
def test_a_bad_line_is_reported_and_the_others_are_read(source, line, fields):
    entries = read(source({}, line, {"data_path": PATH.replace("bell", "other")}))
    assert problems(entries) == [("2", field) for field in fields]
    assert len(tasks(entries)) == 2


def test_a_line_that_is_no_object_is_reported(tmp_path):
    (tmp_path / "x.jsonl").write_text("[1]\nbroken\n")
    assert problems(read(tmp_path / "x.jsonl")) == [("1", ""), ("2", "")]


def test_a_study_that_asks_something_else_is_told_for_each_axis(source):
    faults = read(source({}), protocol="orca")
    assert [(fault.field, fault.remedy) for fault in faults] == [
        (axis, "Use the aes protocol.") for axis in AXES
    ]
