"""Logs of listening: what was heard, what is missing, and what cannot be true."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.listening.rules.coverage import (
    ClipConditions,
    Conditions,
    check_playback_log,
    read_playback_log,
    unique_seconds,
)

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
