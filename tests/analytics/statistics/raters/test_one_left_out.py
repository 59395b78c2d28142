from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytics.statistics.agreement import disagreement
from analytics.statistics.agreement.alpha import LEVELS, krippendorff_alpha, symmetric_alpha
from analytics.statistics.agreement.patterns import patterns_from_long
from analytics.statistics.raters.rater_agreement import one_left_out

levels = st.sampled_from([*LEVELS, "symmetric"])
ratings = st.dictionaries(st.tuples(st.integers(0, 7), st.integers(0, 4)), st.integers(0, 3), max_size=25)


def columns(given_: dict[tuple[int, int], int], level: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    unit, rater = np.array(list(given_), dtype=np.int64).reshape(-1, 2).T
    value = np.array(list(given_.values()), dtype=np.float64)
    return unit, rater, value % 2 if level == "symmetric" else value


def afresh(unit: np.ndarray, value: np.ndarray, level: str):
    patterns = patterns_from_long(unit, value)
    return symmetric_alpha(patterns) if level == "symmetric" else krippendorff_alpha(patterns, level=level)


def check(unit: np.ndarray, rater: np.ndarray, value: np.ndarray, level: str) -> None:
    found = one_left_out(unit, rater, value, level=level)
    assert [one.rater for one in found] == sorted(set(rater.tolist()))
    for one in found:
        own = rater == one.rater
        without = afresh(unit[~own], value[~own], level)
        assert one.reason == (None if without.alpha is not None else without.reason)
        assert one.alpha_without == (
            None if without.alpha is None else pytest.approx(without.alpha, abs=1e-12)
        )
        others = [(v, value[~own & (unit == u)]) for u, v in zip(unit[own], value[own], strict=True)]
        paired = [(v, rest) for v, rest in others if len(rest)]
        pairs = [v == other for v, rest in paired for other in rest]
        assert (one.ratings, one.pairable_ratings, one.pairs) == (own.sum(), len(paired), len(pairs))
        assert one.equal == (pytest.approx(np.mean(pairs)) if pairs else None)
        if level in ("nominal", "symmetric") or not paired:
            assert one.above_others is None
        else:
            assert one.above_others == pytest.approx(np.mean([v - rest.mean() for v, rest in paired]))


@settings(max_examples=60)
@given(ratings, levels)
def test_it_equals_computing_each_again_without_the_rater(given_, level):
    check(*columns(given_, level), level)


@pytest.mark.parametrize("level", LEVELS)
def test_long_scales_are_computed_rater_by_rater(level, monkeypatch):
    random = np.random.default_rng(1)
    unit, rater = np.repeat(np.arange(12), 3), np.tile(np.arange(3), 12)
    value = random.integers(0, 60, 36).astype(float)
    check(unit, rater, value, level)
    monkeypatch.setattr(disagreement, "MOST_SUMMED_VALUES", 3)
    check(unit, rater, value % 5, level)


def test_raters_may_be_called_anything_and_missing_ratings_are_nobodys():
    found = one_left_out(
        [1, 1, 2, 2, 2], ["zoe", "al", "zoe", "al", "kim"], [1, 1, 2, 3, float("nan")], level="interval"
    )

    assert [(one.rater, one.ratings) for one in found] == [("al", 2), ("zoe", 2)]
    assert (found[0].equal, found[0].above_others) == (0.5, 0.5)


def test_a_rater_nobody_can_be_compared_with():
    alone, *rest = one_left_out([1, 2, 2, 3, 3], [0, 1, 2, 1, 2], [5, 1, 1, 2, 3], level="ordinal")

    assert (alone.pairs, alone.equal, alone.above_others, alone.reason) == (0, None, None, None)
    assert [one.reason for one in rest] == ["no_pairable_units"] * 2


def test_a_single_rater_leaves_nothing():
    (only,) = one_left_out([1, 2], ["a", "a"], [3, 4], level="ordinal")
    assert (only.alpha_without, only.reason) == (None, "no_ratings")
    assert one_left_out([], [], [], level="ordinal") == []


@pytest.mark.parametrize(
    ("raters", "values", "level", "sentence"),
    [
        (["a", "a"], [1, 2], "nominal", "Rater a rated a unit more than once"),
        (["a", None], [1, 2], "nominal", "names no rater"),
        (["a"], [1, 2], "nominal", "raters of"),
        (["a", "b"], [-1, 2], "ratio", "values of zero or more"),
        (["a", "b"], [1, 2], "likert", "Unknown level"),
    ],
)
def test_it_refuses_what_cannot_be_compared(raters, values, level, sentence):
    with pytest.raises(ValueError, match=sentence):
        one_left_out([1, 1], raters, values, level=level)
