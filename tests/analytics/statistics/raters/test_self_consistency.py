from __future__ import annotations

import numpy as np
import pytest

from analytics.statistics.agreement.alpha import IntervalSettings, krippendorff_alpha
from analytics.statistics.agreement.patterns import patterns_from_long
from analytics.statistics.raters.rater_agreement import self_consistency

NAN = float("nan")


def test_it_compares_a_rater_with_nobody_else():
    found = self_consistency(
        [1, 1, 1, 1, 2, 2, 2, 3], list("aabbaabb"), [5, 5, 1, 1, 2, 3, 4, 5], level="ordinal"
    )

    assert (found.pairs, found.repeated, found.raters) == (3, 3, 2)
    assert found.equal == pytest.approx(2 / 3)
    assert (
        found.alpha.alpha
        == krippendorff_alpha(
            patterns_from_long([0, 0, 1, 1, 2, 2], [5, 5, 1, 1, 2, 3]), level="ordinal"
        ).alpha
    )
    assert found.reason is None


def test_three_answers_are_three_pairs():
    found = self_consistency(["u"] * 3, ["r"] * 3, [1, 1, 2], level="nominal")

    assert (found.equal, found.pairs, found.repeated) == (pytest.approx(1 / 3), 3, 1)


@pytest.mark.parametrize(
    ("units", "raters", "values"),
    [
        ([], [], []),
        ([1, 1], ["a", "b"], [3, 3]),
        ([1, 2], ["a", "a"], [3, 3]),
        ([1, 1], ["a", "a"], [3, NAN]),
    ],
    ids=["no answers", "two raters", "two units", "one of the two is missing"],
)
def test_without_repeats_it_is_none_with_a_reason(units, raters, values):
    found = self_consistency(units, raters, values, level="interval")

    assert (found.equal, found.alpha.alpha, found.pairs, found.repeated, found.raters) == (
        None,
        None,
        0,
        0,
        0,
    )
    assert found.reason == found.alpha.reason == "no_repeats"


def test_constant_answers_are_equal_but_have_no_alpha():
    found = self_consistency([1, 1, 2, 2], list("aabb"), [4, 4, 4, 4], level="ordinal")

    assert (found.equal, found.alpha.alpha, found.alpha.reason) == (1.0, None, "no_variation")


def test_sides_of_comparisons_are_arbitrary():
    found = self_consistency([1, 1, 2, 2], list("aaaa"), [1, 1, 1, 1], level="symmetric")

    assert (found.equal, found.alpha.alpha) == (1.0, 1.0)


def test_raters_can_be_drawn_with_all_they_repeated():
    random = np.random.default_rng(0)
    rater, unit = np.repeat(np.arange(6), 20), np.tile(np.repeat(np.arange(10), 2), 6)
    found = self_consistency(
        unit, rater, random.integers(1, 4, 120), level="ordinal", interval=IntervalSettings("clusters")
    )

    assert (found.repeated, found.alpha.clusters) == (60, 6)


def test_it_refuses_columns_of_unequal_length_and_raters_without_a_name():
    with pytest.raises(ValueError, match="columns of equal length"):
        self_consistency([1, 2], ["a"], [1, 2], level="nominal")
    with pytest.raises(ValueError, match="names no rater"):
        self_consistency([1, 1], ["a", None], [1, 2], level="nominal")
