"""FENSE's layout: what becomes of captions, sources and votes, and every pair it refuses."""

from __future__ import annotations

import json
from functools import partial

import pytest

from annotation.rating.rules.answers import FIRST, SECOND, TIE
from tests.annotation.importing.formats import reading, sounds
from tests.annotation.importing.formats.reading import problems, tasks

PAIR = ["a bell rings twice", "a bell rings", "human_1", "rl", [1, -1, 0, 1]]
read = partial(reading.read, "fense", protocol="fense")


@pytest.fixture
def source(tmp_path):
    """A file of clips; each is complete unless the test changes it."""

    def write(*clips: object):
        complete = {"raw_name": "bell.wav", "references": ["two strokes", "a bell"], "HM": PAIR}
        path = tmp_path / "clotho_eval.json"
        path.write_text(json.dumps([{**complete, **c} if isinstance(c, dict) else c for c in clips]))
        return path

    return write


def test_a_vote_is_the_judgment_of_somebody_unnamed_on_the_captions_as_listed(source):
    [record] = read(source({}))
    assert [c.text for c in record.candidates] == PAIR[:2]
    assert [j.rater for j in record.judgments] == [""] * 4
    assert [j.answers[0].choice for j in record.judgments] == [FIRST, SECOND, TIE, FIRST]
    assert {j.presentation for j in record.judgments} == {None}


def test_an_item_is_a_clip_in_one_category(source):
    records = read(source({"HC": PAIR, "MM_1": PAIR, "MM_2": PAIR, "HI": None}))
    items = [record.item.external_id for record in records]
    assert items == ["bell.wav HM", "bell.wav HC", "bell.wav MM", "bell.wav MM"]
    assert len({record.external_id for record in records}) == 4
    assert records[1].item.strata == {"category": "HC", "set": "clotho"}
    assert records[1].item.texts == {"reference": "two strokes\na bell"}


def test_the_votes_come_last_whatever_stands_before_them(source):
    [record] = read(source({"HM": [*PAIR[:4], 0, PAIR[4]]}))
    assert len(record.judgments) == 4


@pytest.mark.parametrize(
    ("source_name", "system"),
    [
        ("ground_t_103548", "human"),
        ("human_4", "human"),
        (f"{'a1' * 16}_human_2", "human"),
        (f"{'b2' * 16}_human_2", "human, of another clip"),
        ("idx523", "human, of another clip"),
        ("cos_sim_85256", "nearest caption"),
        ("nn", "nearest caption"),
        ("attn15", "attn15"),
        ("fc_temp0.5", "fc_temp0.5"),
    ],
)
def test_sources_that_number_captions_are_taken_together(source, source_name, system):
    [record] = read(source({"raw_name": f"{'a1' * 16}.wav", "HM": [*PAIR[:2], source_name, "rl", [1]]}))
    assert [c.system for c in record.candidates] == [system, "rl"]


def test_a_clip_without_a_file_name_has_that_of_its_video(source):
    [record] = read(source({"raw_name": None, "audio_id": "abc"}))
    assert record.item.external_id == "abc HM"


def test_sounds_beside_the_file_are_taken_and_then_none_may_be_missing(source, tmp_path):
    path = source({}, {"raw_name": "other.wav"}, {"raw_name": "moved.wav", "audio": "bell.wav"})
    assert [record.item.audio for record in read(path)] == [None] * 3
    sound = sounds.tone(tmp_path / "bell.wav")
    assert problems(read(path)) == [("clotho_eval.json #2", "audio")]
    assert [record.item.audio for record in tasks(read(path))] == [sound, sound]


@pytest.mark.parametrize(
    ("clip", "field"),
    [
        ({"HM": [*PAIR[:4], [1, 2]]}, "HM[1]"),
        ({"HM": [*PAIR[:4], [True]]}, "HM[0]"),
        ({"HM": [*PAIR[:4], [[1]]]}, "HM[0]"),
        ({"HM": PAIR[:4]}, "HM"),
        ({"HM": ["", *PAIR[1:]]}, "HM"),
        ({"HM": [*PAIR[:2], 1, "rl", [1]]}, "HM"),
        ({"HM": "a caption"}, "HM"),
        ({"raw_name": ""}, "raw_name"),
        ({"references": "a bell"}, "references"),
        ([], ""),
    ],
)
def test_a_bad_clip_is_reported_and_the_others_are_read(source, clip, field):
    entries = read(source({}, clip, {"raw_name": "other.wav"}))
    assert problems(entries) == [("clotho_eval.json #2", field)]
    assert len(tasks(entries)) == 2


@pytest.mark.parametrize("content", [b'{"HM": []}', b"[broken", b'["\xff"]', b""])
def test_a_file_of_another_kind_is_one_problem(tmp_path, content):
    (tmp_path / "x.json").write_bytes(content)
    assert [row for row, _ in problems(read(tmp_path / "x.json"))] == ["x.json"]


def test_a_study_that_asks_something_else_is_one_problem(source):
    [fault] = read(source({}, {}), protocol="orca")
    assert (fault.field, fault.remedy) == ("better", "Use the fense protocol.")
