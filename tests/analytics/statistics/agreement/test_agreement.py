from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from analytics.statistics.agreement import disagreement
from analytics.statistics.agreement.alpha import (
    LEVELS,
    SENTENCES,
    IntervalSettings,
    krippendorff_alpha,
    symmetric_alpha,
)
from analytics.statistics.agreement.patterns import Patterns, patterns_from_counts, patterns_from_long
from analytics.statistics.bootstrap import Resampling


def units(*ratings: list[float]) -> Patterns:
    numbers = [number for number, given in enumerate(ratings) for _ in given]
    return patterns_from_long(numbers, [value for given in ratings for value in given])


def at(level: float) -> IntervalSettings:
    return IntervalSettings(resampling=Resampling(level=level))


def continuous(number: int, *, seed: int = 2) -> Patterns:
    random = np.random.default_rng(seed)
    ratings = random.normal(size=number) + 0.5 * random.normal(size=(3, number))
    return patterns_from_long(np.tile(np.arange(number), 3), ratings.ravel())


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("patterns", "reason"),
    [
        (units(), "no_ratings"),
        (units([1], [2], [3]), "no_pairable_units"),
        (units([4, 4], [4, 4, 4]), "no_variation"),
        (units([4, 4], [4, 4, 4], [2], [5]), "no_variation"),
    ],
    ids=["no ratings", "single ratings", "all equal", "variation in unpairable units"],
)
def test_alpha_is_none_with_a_reason_where_it_is_undefined(patterns, reason, level):
    result = krippendorff_alpha(patterns, level=level)

    assert (result.alpha, result.ci, result.reason) == (None, None, reason)
    assert reason in SENTENCES


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("patterns", "alpha", "reason"),
    [
        (units([1, 2], [3]), 0.0, "one_pairable_unit"),
        (units([1, 1, 1], [1, 2], [1, 1]), 0.0, "variation_in_one_unit"),
        (units([1, 1], [1, 1], [2, 2], [2, 2]), 1.0, "no_spread"),
    ],
    ids=["one pairable unit", "one unit holds all variation", "perfect agreement"],
)
def test_the_interval_is_none_with_a_reason_where_the_data_cannot_give_one(patterns, alpha, reason, level):
    result = krippendorff_alpha(patterns, level=level)

    assert result.alpha == pytest.approx(alpha, abs=1e-15)
    assert (result.ci, result.reason) == (None, reason)


def test_a_defined_alpha_has_an_interval_and_no_reason():
    result = krippendorff_alpha(units([1, 1], [1, 2], [2, 2], [3, 3], [3]), level="nominal")

    assert result.reason is None
    assert result.ci_method == "jackknife-t"
    assert result.ci[0] < result.alpha < result.ci[1] == 1.0
    assert (result.units, result.pairable_units, result.ratings, result.pairable_ratings) == (5, 4, 9, 8)


def test_more_confidence_means_a_wider_interval():
    patterns = continuous(200)

    narrow = krippendorff_alpha(patterns, level="interval", interval=at(0.8)).ci
    wide = krippendorff_alpha(patterns, level="interval", interval=at(0.99)).ci

    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_raters_who_always_differ_agree_less_than_chance():
    assert krippendorff_alpha(units([1, 2], [2, 1], [1, 2]), level="nominal").alpha == pytest.approx(-2 / 3)


def test_ratio_takes_two_zeros_as_equal():
    assert krippendorff_alpha(units([0, 0], [0, 1], [1, 1]), level="ratio").alpha == pytest.approx(4 / 9)


def test_ratio_refuses_negative_values_that_count():
    with pytest.raises(ValueError, match="ratio level needs values of zero or more; found -2"):
        krippendorff_alpha(units([-2, 1], [1, 1]), level="ratio")

    assert krippendorff_alpha(units([-2], [1, 1], [1, 3]), level="ratio").alpha is not None


def test_it_refuses_an_unknown_level():
    with pytest.raises(ValueError, match="Unknown level of measurement 'likert'; known are nominal, ordinal"):
        krippendorff_alpha(units([1, 2]), level="likert")


@pytest.mark.parametrize("level", [0, 1, 95, float("nan")])
def test_it_refuses_a_confidence_level_outside_zero_and_one(level):
    with pytest.raises(ValueError, match="a level between 0 and 1"):
        at(level)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
@pytest.mark.parametrize("level", ["interval", "ratio"])
def test_extreme_magnitudes_neither_overflow_nor_vanish(level, scale):
    ratings = [[1.0, 2.0], [2.0, 2.0], [3.0, 1.0], [3.0, 3.0]]
    scaled = [[value * scale for value in unit] for unit in ratings]

    expected = krippendorff_alpha(units(*ratings), level=level)
    result = krippendorff_alpha(units(*scaled), level=level)

    assert result.alpha == pytest.approx(expected.alpha, rel=1e-12)
    assert result.ci == pytest.approx(expected.ci, rel=1e-12)


@pytest.mark.parametrize("level", ["nominal", "interval", "ordinal"])
def test_a_continuous_scale_needs_memory_for_its_ratings_only(level):
    patterns = continuous(20_000)  # one V x V table of its 60,000 values would take 29 GB
    tracemalloc.start()
    result = krippendorff_alpha(patterns, level=level)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert result.alpha is not None
    assert peak < 64 * 2**20


def test_the_term_left_out_on_long_ordinal_scales_moves_only_the_interval_and_hardly(monkeypatch):
    patterns = continuous(300)
    exact = krippendorff_alpha(patterns, level="ordinal")
    monkeypatch.setattr(disagreement, "MOST_ORDINAL_VALUES", 899)
    shortened = krippendorff_alpha(patterns, level="ordinal")

    assert shortened.alpha == exact.alpha
    assert shortened.ci != exact.ci
    assert np.diff(shortened.ci) == pytest.approx(np.diff(exact.ci), rel=2e-3)


def test_symmetric_alpha_does_not_care_which_side_was_called_a():
    stored = patterns_from_counts([0, 1], [[2, 1], [3, 0], [0, 2], [1, 1], [1, 3]])
    always_a = patterns_from_counts([0, 1], [[2, 1], [3, 0], [2, 0], [1, 1], [3, 1]])

    assert symmetric_alpha(stored) == symmetric_alpha(always_a)
    assert (
        krippendorff_alpha(stored, level="nominal").alpha
        != krippendorff_alpha(always_a, level="nominal").alpha
    )


def test_symmetric_alpha_divides_by_half_corrected_for_the_sample():
    result = symmetric_alpha(patterns_from_counts([0, 1], [[2, 1], [3, 0], [0, 2], [1, 1]]))

    # Do = (2*2*1/2 + 2*1*1/1) / 10 and De = 0.5 * 10/9
    assert result.alpha == pytest.approx(1 - 0.4 / (0.5 * 10 / 9), abs=1e-15)
    assert result.level == "nominal-symmetric"


def test_symmetric_alpha_of_balanced_labels_is_nominal_alpha():
    balanced = patterns_from_counts([0, 1], [[2, 0], [0, 2], [1, 1], [2, 1], [1, 2]])

    assert symmetric_alpha(balanced).alpha == pytest.approx(
        krippendorff_alpha(balanced, level="nominal").alpha, abs=1e-15
    )


@pytest.mark.parametrize(
    ("patterns", "alpha", "reason"),
    [
        (units(), None, "no_ratings"),
        (units([0], [1]), None, "no_pairable_units"),
        (units([0, 0, 0], [0, 0]), 1.0, "no_spread"),
    ],
    ids=["no ratings", "single ratings", "all for one side"],
)
def test_symmetric_alpha_or_its_interval_is_none_with_a_reason(patterns, alpha, reason):
    result = symmetric_alpha(patterns)

    assert (result.alpha, result.ci, result.reason) == (alpha, None, reason)


def test_symmetric_alpha_refuses_a_third_label():
    with pytest.raises(ValueError, match=r"is for two labels; found \[0\.0, 1\.0, 2\.0\]"):
        symmetric_alpha(units([0, 1], [1, 2]))
