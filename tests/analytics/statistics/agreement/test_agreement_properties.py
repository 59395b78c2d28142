from __future__ import annotations

import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from analytics.statistics.agreement.alpha import LEVELS, krippendorff_alpha, symmetric_alpha
from analytics.statistics.agreement.patterns import patterns_from_long
from analytics.statistics.agreement.percent_agreement import percent_agreement

Unit = list[int]

data_sets = st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=5), min_size=1, max_size=12)
votes = st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=5), min_size=1, max_size=12)
levels = st.sampled_from(LEVELS)


def patterns(units: list[Unit], shuffle: random.Random | None = None):
    ratings = [(number, value) for number, unit in enumerate(units) for value in unit]
    if shuffle:
        shuffle.shuffle(ratings)
    return patterns_from_long([number for number, _ in ratings], [value for _, value in ratings])


def alpha(units: list[Unit], level: str) -> float:
    result = krippendorff_alpha(patterns(units), level=level).alpha
    assume(result is not None)
    return result


@given(data_sets, levels, st.randoms(use_true_random=False))
def test_the_order_of_units_and_raters_changes_no_bit(units, level, shuffle):
    reordered = shuffle.sample(units, len(units))

    assert krippendorff_alpha(patterns(reordered, shuffle), level=level) == krippendorff_alpha(
        patterns(units), level=level
    )


@given(data_sets, st.permutations(range(7)))
def test_nominal_alpha_does_not_depend_on_the_names_of_the_categories(units, names):
    renamed = [[names[value] for value in unit] for unit in units]

    assert alpha(renamed, "nominal") == pytest.approx(alpha(units, "nominal"), abs=1e-12)


@given(data_sets, st.floats(-1e3, 1e3), st.floats(0.01, 1e3), st.booleans())
def test_interval_alpha_does_not_depend_on_the_zero_and_unit_of_the_scale(units, zero, factor, flip):
    factor = -factor if flip else factor
    moved = [[zero + factor * value for value in unit] for unit in units]

    assert alpha(moved, "interval") == pytest.approx(alpha(units, "interval"), abs=1e-9)


@given(data_sets, st.lists(st.floats(0.1, 10), min_size=7, max_size=7))
def test_ordinal_alpha_depends_on_the_order_of_the_values_alone(units, steps):
    stretched = [[sum(steps[: value + 1]) for value in unit] for unit in units]

    assert alpha(stretched, "ordinal") == pytest.approx(alpha(units, "ordinal"), abs=1e-12)


@given(data_sets, st.floats(0.01, 1e3))
def test_ratio_alpha_does_not_depend_on_the_unit_of_the_scale(units, factor):
    stretched = [[factor * value for value in unit] for unit in units]

    assert alpha(stretched, "ratio") == pytest.approx(alpha(units, "ratio"), abs=1e-12)


@given(data_sets, levels, st.integers(2, 5))
def test_copies_of_all_units_change_only_the_correction_for_the_sample(units, level, copies):
    """De divides by n (n - 1), so k copies make 1 - alpha grow by (k n - 1) / (k (n - 1))."""
    n = sum(len(unit) for unit in units if len(unit) >= 2)

    expected = 1 - (1 - alpha(units, level)) * (copies * n - 1) / (copies * (n - 1))

    assert alpha(units * copies, level) == pytest.approx(expected, abs=1e-12)


@given(data_sets, levels)
def test_units_with_one_rating_count_for_nothing(units, level):
    pairable = [unit for unit in units if len(unit) >= 2]

    assert alpha(pairable, level) == alpha(units, level)


@given(data_sets, levels)
def test_alpha_is_one_exactly_when_all_agree_and_values_differ(units, level):
    unanimous = [[unit[0]] * max(2, len(unit)) for unit in units]
    assume(len({unit[0] for unit in units}) >= 2)

    assert alpha(unanimous, level) == 1
    assert (alpha(units, level) == 1) == (percent_agreement(patterns(units)).observed == 1)


@given(data_sets, levels)
def test_the_interval_contains_alpha_and_ends_at_one(units, level):
    result = krippendorff_alpha(patterns(units), level=level)
    assume(result.ci is not None)

    assert result.ci[0] < result.alpha <= result.ci[1] <= 1


@given(data_sets, levels)
def test_a_missing_figure_always_has_a_reason(units, level):
    result = krippendorff_alpha(patterns(units), level=level)

    assert (result.reason is None) == (result.ci is not None)
    assert result.ci is None or result.alpha is not None


@given(votes, st.lists(st.booleans(), min_size=12, max_size=12))
def test_symmetric_alpha_is_unmoved_when_labels_are_swapped_in_any_unit(units, swapped):
    relabelled = [[1 - v for v in unit] if swap else unit for unit, swap in zip(units, swapped, strict=False)]

    result, other = symmetric_alpha(patterns(relabelled)), symmetric_alpha(patterns(units))

    assert other.alpha is None or result.alpha == pytest.approx(other.alpha, abs=1e-12)
    assert other.ci is None or result.ci == pytest.approx(other.ci, abs=1e-12)
    assert result.reason == other.reason
