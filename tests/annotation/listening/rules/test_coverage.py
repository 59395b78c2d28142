"""Logs of listening: what was heard, is missing or cannot be true; and what a study asks: defaults, limits, a task."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.listening.rules.coverage import (
    ClipConditions,
    Conditions,
    ListeningRules,
    TaskClip,
    check_playback_log,
    listening_conditions,
    page_settings,
    read_playback_log,
    unique_seconds,
    validate_listening,
)
from annotation.listening.rules.loudness import ClipLevel

PAIR = Conditions(
    clips=(
        ClipConditions("a", duration=20.0, gain_db=-3.0, must_hear=10.0),
        ClipConditions("b", duration=20.0, gain_db=0.0, must_hear=10.0),
        ClipConditions("reference", duration=8.0, gain_db=0.0, must_hear=0.0),
    ),
    min_switches=1,
)
ENOUGH = {"heard": {"a": [[0, 10]], "b": [[4, 9], [12.5, 17.5]]}, "switches": 1}


def problems(*, wall_seconds: float = 60.0, **changes: Any) -> dict[str, str]:
    """What is wrong with a log that had been enough before these changes."""
    found = check_playback_log({**ENOUGH, **changes}, conditions=PAIR, wall_seconds=wall_seconds)
    return {problem.field: problem.message for problem in found}


def test_a_vote_stands_when_enough_was_heard_and_switched():
    assert problems() == {}


def test_what_is_missing_is_named_clip_by_clip():
    heard = {"a": [[0, 10]], "b": [[0, 2.5], [6.3, 8]]}
    assert problems(heard=heard, switches=0) == {
        "telemetry.heard.b": "Clip B: heard 4.2 s of 10 s.",
        "telemetry.switches": "Switch between the clips at least once before you decide.",
    }


@pytest.mark.parametrize("telemetry", [None, {}, {"heard": {}}])
def test_without_a_log_nothing_was_heard(telemetry):
    fields = [problem.field for problem in check_playback_log(telemetry, conditions=PAIR, wall_seconds=60.0)]
    assert fields == ["telemetry.heard.a", "telemetry.heard.b", "telemetry.switches"]


def test_a_loop_counts_once():
    assert list(problems(heard={"a": [[0, 3], [0, 3], [1, 3.5]], "b": [[0, 10]]})) == ["telemetry.heard.a"]


def test_a_tenth_of_a_second_is_forgiven():
    assert problems(heard={"a": [[0, 9.9]], "b": [[10.1, 20.1]]}) == {}


def of_one_clip(name: str, *, must_hear: float, telemetry: Any) -> list[str]:
    conditions = Conditions((ClipConditions(name, 8.0, 0.0, must_hear=must_hear),), min_switches=0)
    found = check_playback_log(telemetry, conditions=conditions, wall_seconds=60.0)
    return [problem.message for problem in found]


def test_a_clip_counts_only_where_it_must_be_heard():
    unheard = of_one_clip("reference", must_hear=8.0, telemetry={"heard": {}})
    assert unheard == ["The reference clip: heard 0 s of 8 s."]
    assert of_one_clip("a", must_hear=0.0, telemetry=None) == []


# ── What cannot be true ──────────────────────────────────────────────────────


def test_more_listening_than_time_is_refused_also_of_what_is_heard_twice():
    assert problems(wall_seconds=19.5) == {}
    assert problems(wall_seconds=12.0) == {
        "telemetry.heard": "20 s of listening do not fit into the 12 s since this task was handed out."
    }
    thrice = {"a": [[0, 20]] * 3, "b": [[0, 10]]}
    assert list(problems(heard=thrice, wall_seconds=65.0)) == ["telemetry.heard"]


def test_a_clip_cannot_be_heard_beyond_its_end_nor_one_of_another_task():
    message = "Clip A ends after 20 s, yet was heard until 25 s."
    assert problems(heard={**ENOUGH["heard"], "a": [[0, 25]]}) == {"telemetry.heard.a": message}
    assert list(problems(heard={**ENOUGH["heard"], "c": [[0, 1]]})) == ["telemetry.heard.c"]


NO_STRETCHES = [
    *([[start, end]] for start, end in ((5, 4), (-1, 4), (math.nan, 4), (0, math.nan), (0, math.inf), (0, 10**400))),
    *([[0]], [[0, 1, 2]], [[True, 5]], [["0", "10"]], [0, 10], "0-10", None, {"0": 10}),
]  # fmt: skip


@pytest.mark.parametrize("stretches", NO_STRETCHES)
def test_a_stretch_that_is_none_is_refused(stretches):
    assert list(problems(heard={**ENOUGH["heard"], "a": stretches})) == ["telemetry.heard.a"]


def test_stretches_before_the_beginning_give_no_time_back():
    many = [[-0.1, -0.1]] * 200
    assert "telemetry.heard" in problems(heard={"a": [[0, 20], *many], "b": [[0, 20]]}, wall_seconds=20.0)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("switches", value) for value in (-1, 1.5, "1", True, None, [1], 10**400)),
        *(("heard", value) for value in (None, [], "a", 3)),
    ],
)
def test_a_count_of_switches_or_stretches_without_names_are_refused(field, value):
    assert list(problems(**{field: value})) == [f"telemetry.{field}"]


numbers = st.floats(allow_nan=True) | st.integers() | st.booleans() | st.none() | st.text(max_size=3)
junk = st.recursive(
    numbers, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner), max_leaves=12
)


@given(st.dictionaries(st.sampled_from(["heard", "switches", "v", "x"]), junk))
def test_any_log_is_read_without_a_crash(telemetry):
    log = read_playback_log(telemetry)
    assert min(log.seconds, log.switches) >= 0
    assert isinstance(check_playback_log(telemetry, conditions=PAIR, wall_seconds=10.0), list)


# ── Adding up ────────────────────────────────────────────────────────────────

intervals = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)).map(lambda pair: tuple(sorted(pair))))


@given(intervals)
def test_each_moment_is_counted_once(stretches):
    moments = {moment for start, end in stretches for moment in range(start, end)}
    assert unique_seconds(stretches) == len(moments)
    assert unique_seconds(stretches, duration=30) == len([moment for moment in moments if moment < 30])


def test_a_log_reads_the_same_after_its_journey():
    assert read_playback_log(json.loads(json.dumps(ENOUGH))) == read_playback_log(ENOUGH)


# ── What a study asks of listening ───────────────────────────────────────────────────────────────────────────


DEFAULTS = ListeningRules()


def sound(name: str, *, source: str = "candidates", duration: float = 30.0, lufs: float = -13.0) -> TaskClip:
    return TaskClip(name, source, duration, ClipLevel(lufs, -1.0))


SOUNDS = [sound("a"), sound("b", lufs=-18.0), sound("reference", source="reference_clip", lufs=-23.0)]


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
        (DEFAULTS, ("candidates",), {"sounds": SOUNDS[:1]}, [15.0], [-10.0], 0),
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
    conditions = listening_conditions(rules, **{"sounds": SOUNDS, "must_hear": must_hear, **more})
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
    given = listening_conditions(DEFAULTS, sounds=SOUNDS, must_hear=("candidates",))
    assert page_settings(DEFAULTS, conditions=given, instruction_first=instruction_first) == {
        "fade_ms": 5,
        "min_switches": 1,
        "instruction_seconds": seconds,
        "break_minutes": 25,
        "stop_minutes": 45,
        "change_minutes": 10,
    }
