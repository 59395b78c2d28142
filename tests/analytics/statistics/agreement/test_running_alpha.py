from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.statistics.agreement.alpha import LEVELS, Agreement, krippendorff_alpha, symmetric_alpha
from analytics.statistics.agreement.patterns import patterns_from_long
from analytics.statistics.agreement.running_alpha import RunningAlpha

VALUES = (0.0, 1.0, 2.5, 4.0)
votes = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.booleans()), max_size=25)
levels = st.sampled_from([*LEVELS, "symmetric"])


def afresh(cast: list[tuple[int, float]], level: str) -> Agreement:
    patterns = patterns_from_long([unit for unit, _ in cast], [value for _, value in cast])
    return symmetric_alpha(patterns) if level == "symmetric" else krippendorff_alpha(patterns, level=level)


def same(running: RunningAlpha, cast: list[tuple[int, float]]) -> bool:
    fresh = afresh(cast, running.level)
    if fresh.alpha is None:
        return running.alpha() is None and running.reason() == fresh.reason
    counts = (running.ratings, running.pairable_units, running.pairable_ratings)
    return running.alpha() == pytest.approx(fresh.alpha, abs=1e-12) and counts == (
        fresh.ratings, fresh.pairable_units, fresh.pairable_ratings,
    )  # fmt: skip


@given(votes, levels)
def test_it_equals_a_fresh_computation_after_every_vote_that_comes_or_goes(steps, level):
    values = VALUES[:2] if level == "symmetric" else VALUES
    running, cast = RunningAlpha(values, level), []
    for unit, code, taken in steps:
        given_before = [vote for vote in cast if vote[0] == unit]
        if taken and given_before:
            vote = given_before[code % len(given_before)]
            cast.remove(vote)
            running.remove(*vote)
        else:
            cast.append((unit, values[code % len(values)]))
            running.add(*cast[-1])
        assert same(running, cast)


@pytest.mark.parametrize("level", [*LEVELS, "symmetric"])
def test_a_long_pilot_does_not_drift(level):
    random = np.random.default_rng(3)
    values = [0.1, 0.7] if level == "symmetric" else [0.1, 0.2, 0.7, 3.3, 9.0]
    running = RunningAlpha(values, level)
    cast = [(int(random.integers(300)), values[random.integers(len(values))]) for _ in range(3000)]
    for vote in cast:
        running.add(*vote)
    for vote in cast[:2950]:
        running.remove(*vote)

    assert same(running, cast[2950:])


@pytest.mark.parametrize(
    ("values", "level", "sentence"),
    [
        ([1, 2], "likert", "Unknown level of measurement 'likert'"),
        ([1, 1], "nominal", "finite and distinct"),
        ([1, float("inf")], "nominal", "finite and distinct"),
        ([-1, 1], "ratio", "values of zero or more; got -1"),
        ([1, 2, 3], "symmetric", "for two labels"),
    ],
)
def test_it_refuses_a_scale_that_the_level_cannot_have(values, level, sentence):
    with pytest.raises(ValueError, match=sentence):
        RunningAlpha(values, level)


def test_it_refuses_a_vote_that_is_not_there_and_changes_nothing():
    running = RunningAlpha([1, 2], "nominal")
    running.add("a", 1)
    for unit, value in (("a", 2), ("b", 1)):
        with pytest.raises(ValueError, match="has no vote of"):
            running.remove(unit, value)
    with pytest.raises(ValueError, match="3 is not on the scale"):
        running.add("a", 3)
    assert (running.ratings, running.reason()) == (1, "no_pairable_units")
