"""Gains: one loudness for all clips of a task, and no peak above what may be."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.rules.loudness import HIGHEST_PEAK_DBTP, TARGET_LUFS, TOLERANCE_LU, Level, gains

decibels = st.floats(-69.9, 5.0)
# A true peak lies above the loudness of its clip, as the loudest moment above the mean.
measured = st.builds(lambda lufs, crest: Level(lufs, lufs + crest), decibels, st.floats(0.0, 40.0))
unmeasurable = st.builds(Level, st.none(), st.none() | st.floats(-120.0, 3.0))


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ([Level(-10.0, -0.5), Level(-14.0, -1.0)], [-13.0, -9.0]),  # two loud masters come down
        ([Level(-30.0, -12.0), Level(-23.0, -6.0)], [7.0, 0.0]),  # a quiet one has room to come up
        ([Level(-30.0, -4.0), Level(-12.0, -0.1)], [3.0, -15.0]),  # it reaches -27 only, so both play at -27
        ([Level(-23.0, 1.5)], [-2.5]),  # alone, but its peak is too high
        ([Level(-20.0, -5.0), Level(-26.0, -20.0), Level(-35.0, -8.0)], [-8.0, -2.0, 7.0]),  # a reference too
    ],
)
def test_clips_of_one_task_are_played_at_one_loudness(levels, expected):
    assert gains(levels) == expected


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ([Level(-10.0, -0.5), Level(None, None)], [-13.0, -13.0]),  # silence beside music: as the music
        ([Level(-40.0, -20.0), Level(None, -90.0)], [17.0, 0.0]),  # noise beside quiet music stays as it is
        ([Level(-23.0, -6.0), Level(None, 2.0)], [0.0, -3.0]),  # a short click: its peak is all there is
        ([Level(None, None), Level(None, -5.0)], [0.0, 0.0]),
    ],
)
def test_a_clip_that_cannot_be_measured_is_never_louder_than_it_was(levels, expected):
    assert gains(levels) == expected


def test_nothing_is_changed_where_loudness_itself_is_judged():
    assert gains([Level(-8.0, 1.0), Level(-30.0, None)], match=False) == [0.0, 0.0]


def test_no_clip_has_no_gain():
    assert gains([]) == []


@given(st.lists(measured, min_size=1, max_size=5))
def test_all_are_within_the_tolerance_of_each_other_and_none_is_above_the_target(levels):
    played = [level.loudness_lufs + gain for level, gain in zip(levels, gains(levels), strict=True)]
    assert max(played) - min(played) <= TOLERANCE_LU / 10
    assert max(played) <= TARGET_LUFS + 1e-6


@given(st.lists(measured | unmeasurable, max_size=5))
def test_no_gain_brings_a_peak_above_the_limit(levels):
    for level, gain in zip(levels, gains(levels), strict=True):
        assert math.isfinite(gain)
        if level.true_peak_dbtp is not None:
            assert level.true_peak_dbtp + gain <= HIGHEST_PEAK_DBTP + 1e-6


@given(st.lists(measured | unmeasurable, min_size=2, max_size=5), st.randoms())
def test_a_clips_gain_does_not_depend_on_where_it_is_shown(levels, random):
    order = list(range(len(levels)))
    random.shuffle(order)
    assert gains([levels[i] for i in order]) == [gains(levels)[i] for i in order]
