"""Gains: one loudness for all clips of a task, and no peak above what may be."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.listening.rules.loudness import (
    HIGHEST_PEAK_DBTP,
    TARGET_LUFS,
    TOLERANCE_LU,
    ClipLevel,
    matching_gains,
)

decibels = st.floats(-69.9, 5.0)
# A true peak lies above the loudness of its clip, as the loudest moment above the mean.
measured = st.builds(lambda lufs, crest: ClipLevel(lufs, lufs + crest), decibels, st.floats(0.0, 40.0))
unmeasurable = st.builds(ClipLevel, st.none(), st.none() | st.floats(-120.0, 3.0))


def level(lufs: float | None, peak: float | None) -> ClipLevel:
    return ClipLevel(lufs, peak)


@pytest.mark.parametrize(
    ("levels", "gains"),
    [
        pytest.param([level(-10.0, -0.5), level(-14.0, -1.0)], [-13.0, -9.0], id="two loud masters come down"),
        pytest.param([level(-30.0, -12.0), level(-23.0, -6.0)], [7.0, 0.0], id="a quiet one has room to come up"),
        pytest.param([level(-30.0, -4.0), level(-12.0, -0.1)], [3.0, -15.0], id="as high as the quiet one reaches"),
        pytest.param([level(-23.0, 1.5)], [-2.5], id="alone, but its peak is too high"),
        pytest.param(
            [level(-20.0, -5.0), level(-26.0, -20.0), level(-35.0, -8.0)], [-8.0, -2.0, 7.0], id="a reference too"
        ),
        pytest.param([level(-10.0, -0.5), level(None, None)], [-13.0, -13.0], id="silence as the music beside it"),
        pytest.param([level(-40.0, -20.0), level(None, -90.0)], [17.0, 0.0], id="noise is not dug up"),
        pytest.param([level(-23.0, -6.0), level(None, 2.0)], [0.0, -3.0], id="of a click the peak is all there is"),
        pytest.param([level(None, None), level(None, -5.0)], [0.0, 0.0], id="nothing that can be measured"),
        pytest.param([], [], id="no clip"),
    ],
)  # fmt: skip
def test_clips_of_one_task_are_played_at_one_loudness_and_nothing_is_dug_up(levels, gains):
    assert matching_gains(levels) == gains


def test_nothing_is_changed_where_loudness_itself_is_judged():
    assert matching_gains([ClipLevel(-8.0, 1.0), ClipLevel(-30.0, None)], match=False) == [0.0, 0.0]


@given(st.lists(measured, min_size=1, max_size=5))
def test_all_are_within_the_tolerance_of_each_other_and_none_is_above_the_target(levels):
    played = [level.loudness_lufs + gain for level, gain in zip(levels, matching_gains(levels), strict=True)]
    assert max(played) - min(played) <= TOLERANCE_LU / 10
    assert max(played) <= TARGET_LUFS + 1e-6


@given(st.lists(measured | unmeasurable, max_size=5))
def test_no_gain_brings_a_peak_above_the_limit(levels):
    for level, gain in zip(levels, matching_gains(levels), strict=True):
        assert math.isfinite(gain)
        if level.true_peak_dbtp is not None:
            assert level.true_peak_dbtp + gain <= HIGHEST_PEAK_DBTP + 1e-6


@given(st.lists(measured | unmeasurable, min_size=2, max_size=5), st.randoms())
def test_a_clips_gain_does_not_depend_on_where_it_is_shown(levels, random):
    order = list(range(len(levels)))
    random.shuffle(order)
    assert matching_gains([levels[i] for i in order]) == [matching_gains(levels)[i] for i in order]
