"""CMI-Pref's columns: votes on one pair find each other, whichever way round, and every row it refuses."""

from __future__ import annotations

import pytest

from annotation.importing.formats import RowProblem, TaskRecord, cmi_pref
from annotation.protocols import preset
from annotation.rating.rules.answers import BOTH_BAD, FIRST, SECOND, TIE
from tests.annotation.importing.importing import merge_fragments


def read(path):
    return list(merge_fragments(cmi_pref.read(path, preset("cmi-pref"), {})))


def problems(path):
    return [(p.row, p.field) for p in read(path) if isinstance(p, RowProblem)]


def test_a_row_is_one_vote(cmi_file):
    [record] = read(cmi_file({}))
    assert isinstance(record, TaskRecord)
    [vote] = record.judgments
    assert (vote.rater, vote.presentation) == ("u1", (0, 1))
    said = {answer.question: answer for answer in vote.answers}
    assert (said["alignment"].choice, said["alignment"].confidence) == (FIRST, 4.5)
    assert (said["musicality"].choice, said["musicality"].confidence) == (SECOND, 2.0)
    assert said["evidence"].text == "A is calmer."


def test_swapped_rows_are_votes_on_one_task_and_agree(cmi_file):
    swapped = {
        "audio-path": "b.wav",
        "audio2": "a.wav",
        "model_a": "beta",
        "model_b": "alpha",
        "preference-alignment": "model_b",
        "user id": "u2",
    }
    [record] = read(cmi_file({}, swapped))
    assert [vote.answers[0].choice for vote in record.judgments] == [FIRST, FIRST]
    assert [vote.presentation for vote in record.judgments] == [(0, 1), (1, 0)]
    assert [candidate.system for candidate in record.candidates] == ["alpha", "beta"]


def test_a_row_without_a_vote_is_a_task_that_waits(cmi_file):
    waiting = {"preference-alignment": None, "preference-musicality": None, "feedback": None, "user id": None}
    [record] = read(cmi_file(waiting))
    assert record.judgments == []


def test_both_is_a_tie(cmi_file):
    [record] = read(cmi_file({"preference-alignment": "both"}))
    assert record.judgments[0].answers[0].choice == TIE


def test_votes_without_a_user_are_of_somebody_unnamed(cmi_file):
    [record] = read(cmi_file({"user id": None}, {"user id": None}))
    assert [vote.rater for vote in record.judgments] == ["", ""]


def test_an_unnamed_vote_keeps_its_name_when_lines_are_added_elsewhere(cmi_file):
    [before] = read(cmi_file({"user id": None}))
    other = {"prompt id": "p0", "prompt": "Another"}
    after = read(cmi_file(other, {"user id": None}))[1]
    assert (after.external_id, after.judgments[0].key) == (before.external_id, before.judgments[0].key)


def test_a_prompt_may_be_called_0_and_stand_in_two_splits(cmi_file):
    [record] = read(
        cmi_file({"prompt id": 0, "split": "train"}, {"prompt id": 0, "split": "test", "user id": "u2"})
    )
    assert (record.item.external_id, record.item.strata, len(record.judgments)) == (
        "0",
        {"split": "train"},
        2,
    )


def test_a_user_may_be_called_0(cmi_file):
    assert read(cmi_file({"user id": 0}))[0].judgments[0].rater == "0"


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({"audio-path": "gone.wav"}, "audio-path"),
        ({"audio2": "../b.wav"}, "audio2"),
        ({"audio2": "a.wav"}, "audio2"),
        ({"prompt": ""}, "prompt"),
        ({"model_b": None}, "model_b"),
        ({"preference-alignment": "left"}, "preference-alignment"),
        ({"confidence_preference-alignment": 6}, "confidence_preference-alignment"),
        ({"confidence_preference-musicality": 2.3}, "confidence_preference-musicality"),
        ({"confidence_preference-musicality": "sure"}, "confidence_preference-musicality"),
        ({"ref-audio-path": "gone.wav"}, "ref-audio-path"),
    ],
)
def test_a_bad_row_is_reported_by_number_and_field(cmi_file, row, field):
    assert problems(cmi_file({}, {"user id": "u2", **row})) == [("2", field)]


def test_one_person_votes_once_on_a_pair(cmi_file):
    assert problems(cmi_file({}, {})) == [("2", "user id")]


def test_a_prompt_id_stands_for_one_prompt(cmi_file):
    assert problems(cmi_file({}, {"prompt": "Something else", "user id": "u2"})) == [("2", "prompt")]


def test_a_broken_line_does_not_stop_the_others(cmi_file):
    path = cmi_file({}, {"user id": "u2"})
    path.write_text("{broken\n" + path.read_text() + "\n[]\n")
    assert [row for row, _ in problems(path)] == ["1", "4"]
    assert [len(r.judgments) for r in read(path) if isinstance(r, TaskRecord)] == [2]


def test_another_encoding_is_named_with_its_place(cmi_file):
    path = cmi_file({})
    path.write_bytes(path.read_bytes() + b'\n{"prompt": "caf\xe9"}')
    [problem] = [p for p in read(path) if isinstance(p, RowProblem)]
    assert (problem.row, "0xe9" in problem.problem) == ("2", True)


ALONE = {"preference-alignment": None, "preference-musicality": None, "feedback": None}


@pytest.mark.parametrize(
    ("said", "choice"), [("model_a", FIRST), ("b", SECOND), ("tie", TIE), ("neither", BOTH_BAD)]
)
def test_music_arenas_one_vote_is_taken_where_it_is_asked_for(cmi_file, said, choice):
    path = cmi_file({**ALONE, "preference": said})
    [record] = cmi_pref.read(path, preset("music-arena"), {})
    assert [answer.choice for answer in record.judgments[0].answers] == [choice]


def test_one_vote_is_refused_where_two_questions_are_asked(cmi_file):
    [problem] = read(cmi_file({**ALONE, "preference": "model_a"}))
    assert (problem.field, "music-arena" in problem.remedy) == ("overall", True)


def test_a_table_of_preferences_beside_the_two_votes_is_passed_over(cmi_file):
    [record] = read(cmi_file({"preference": {"creativity": "a"}}))
    assert {answer.question for answer in record.judgments[0].answers} == {
        "alignment",
        "musicality",
        "evidence",
    }


def test_a_mean_over_raters_is_nobodys_vote(cmi_file):
    mean = {**ALONE, "audio2": None, "musicality": 3.4, "text-music alignment": 2.9}
    assert problems(cmi_file({}, mean)) == [("2", "musicality, text-music alignment")]
