"""What a study asks of listening: defaults, settings and their limits, and what they come to for a task."""

from __future__ import annotations

import math
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.listening.rules.coverage import (
    ListeningRules,
    TaskClip,
    listening_conditions,
    page_settings,
    validate_listening,
)
from annotation.listening.rules.loudness import ClipLevel

DEFAULTS = ListeningRules()


def sound(name: str, *, source: str = "candidates", duration: float = 30.0, lufs: float = -13.0) -> TaskClip:
    return TaskClip(name, source, duration, ClipLevel(lufs, -1.0))


PAIR = [sound("a"), sound("b", lufs=-18.0), sound("reference", source="reference_clip", lufs=-23.0)]


@pytest.mark.parametrize(
    ("duration", "seconds"),
    [
        (3.0, 3.0),  # all of a very short clip
        (12.0, 10.0),
        (20.0, 10.0),
        (30.0, 15.0),  # half
        (60.0, 30.0),
        (60.1, 30.0),  # a song: no jump where the rule changes
        (119.0, 30.0),
        (240.0, 60.0),  # a quarter
    ],
)
def test_by_default_ten_seconds_or_half_of_a_short_clip_and_thirty_or_a_quarter_of_a_song(duration, seconds):
    assert DEFAULTS.seconds_required(duration) == seconds


def test_a_study_states_only_what_differs():
    rules = ListeningRules.of({"listening": {"short_seconds": 4, "loudness": "off"}, "other": 1})
    assert (rules.short_seconds, rules.loudness, rules.long_share) == (4, "off", 0.25)
    assert ListeningRules.of({}) == DEFAULTS


@given(st.floats(0.0, 4000.0), st.floats(0, 60), st.floats(0, 1))
def test_no_more_is_asked_than_there_is(duration, seconds, share):
    rules = ListeningRules(short_seconds=seconds, short_share=share, long_seconds=seconds, long_share=share)
    assert 0 <= rules.seconds_required(duration) <= duration


def test_the_defaults_are_settings_without_a_fault():
    assert validate_listening(asdict(DEFAULTS)) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("short_seconds", -1),
        ("short_share", 1.2),
        ("long_share", math.nan),
        ("long_seconds", "30"),
        ("min_switches", 1.5),
        ("min_switches", True),
        ("fade_ms", 51),
        ("loudness", "peak"),
        ("loudness", ["off"]),
        ("instruction_seconds", 61),
        ("stop_minutes", None),
        ("tempo", 3),
    ],
)
def test_a_setting_out_of_its_limits_is_a_fault_of_that_field(name, value):
    assert [problem.field for problem in validate_listening({name: value})] == [name]


@pytest.mark.parametrize(
    ("break_minutes", "stop_minutes", "faulty"),
    [(25, 45, 0), (25, 25, 1), (30, 20, 1), (0, 20, 0), (30, 0, 0)],
)
def test_work_stops_after_the_break_was_suggested(break_minutes, stop_minutes, faulty):
    found = validate_listening({"break_minutes": break_minutes, "stop_minutes": stop_minutes})
    assert [problem.field for problem in found] == ["stop_minutes"] * faulty


def test_the_pieces_compared_must_be_heard_and_switched_and_all_clips_are_matched():
    given = listening_conditions(DEFAULTS, sounds=PAIR, must_hear=("candidates",))
    assert [(clip.name, clip.must_hear, clip.gain_db) for clip in given.clips] == [
        ("a", 15.0, -10.0),
        ("b", 15.0, -5.0),
        ("reference", 0.0, 0.0),
    ]
    assert given.min_switches == 1


def test_a_protocol_may_want_the_reference_heard_and_the_candidates_not():
    given = listening_conditions(DEFAULTS, sounds=PAIR, must_hear=("reference_clip",))
    assert [clip.must_hear for clip in given.clips] == [0.0, 0.0, 15.0]
    assert given.min_switches == 0


def test_one_clip_cannot_be_switched():
    assert listening_conditions(DEFAULTS, sounds=PAIR[:1], must_hear=("candidates",)).min_switches == 0


def test_loudness_can_be_left_as_it_is():
    given = listening_conditions(ListeningRules(loudness="off"), sounds=PAIR, must_hear=())
    assert [clip.gain_db for clip in given.clips] == [0.0, 0.0, 0.0]


def test_what_must_be_heard_is_rounded_so_that_the_whole_clip_is_always_enough():
    (clip,) = listening_conditions(
        DEFAULTS, sounds=[sound("a", duration=2.0049)], must_hear=("candidates",)
    ).clips
    assert clip.must_hear == 2.0


@pytest.mark.parametrize(("instruction_first", "seconds"), [(True, 3.0), (False, 0)])
def test_the_page_is_told_what_it_has_to_know(instruction_first, seconds):
    given = listening_conditions(DEFAULTS, sounds=PAIR, must_hear=("candidates",))
    assert page_settings(DEFAULTS, conditions=given, instruction_first=instruction_first) == {
        "fade_ms": 5,
        "min_switches": 1,
        "instruction_seconds": seconds,
        "break_minutes": 25,
        "stop_minutes": 45,
        "change_minutes": 10,
    }


def test_clips_of_which_two_are_one_sound_get_one_gain_and_the_lowest():
    given = listening_conditions(DEFAULTS, sounds=PAIR, must_hear=(), one_gain=True)
    assert [clip.gain_db for clip in given.clips] == [-10.0, -10.0, -10.0]
