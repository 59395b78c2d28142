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


@pytest.mark.parametrize(
    ("rules", "must_hear", "more", "seconds", "gains", "switches"),
    [
        (DEFAULTS, ("candidates",), {}, [15.0, 15.0, 0.0], [-10.0, -5.0, 0.0], 1),
        (DEFAULTS, ("reference_clip",), {}, [0.0, 0.0, 15.0], [-10.0, -5.0, 0.0], 0),
        (ListeningRules(loudness="off"), (), {}, [0.0] * 3, [0.0] * 3, 0),
        (DEFAULTS, (), {"one_gain": True}, [0.0] * 3, [-10.0] * 3, 0),
        (DEFAULTS, ("candidates",), {"sounds": PAIR[:1]}, [15.0], [-10.0], 0),
    ],
    ids=[
        "pieces compared are heard and switched, and all clips are matched",
        "a protocol may want the reference heard and the candidates not",
        "loudness can be left as it is",
        "clips of which two are one sound get one gain, the lowest",
        "one clip cannot be switched",
    ],
)
def test_what_is_heard_and_how_loud(rules, must_hear, more, seconds, gains, switches):
    conditions = listening_conditions(rules, **{"sounds": PAIR, "must_hear": must_hear, **more})
    assert [clip.name for clip in conditions.clips] == ["a", "b", "reference"][: len(seconds)]
    assert [clip.must_hear for clip in conditions.clips] == seconds
    assert [clip.gain_db for clip in conditions.clips] == gains
    assert conditions.min_switches == switches


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
