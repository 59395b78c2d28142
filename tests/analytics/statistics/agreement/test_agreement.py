"""Agreement: by hand, what must hold of any alpha, against another package, while votes come, and of first ones."""

from __future__ import annotations

import random
import tracemalloc
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from analytics.statistics.agreement import disagreement
from analytics.statistics.agreement.alpha import (
    LEVELS,
    SENTENCES,
    Agreement,
    IntervalSettings,
    krippendorff_alpha,
    symmetric_alpha,
)
from analytics.statistics.agreement.first_votes import first_votes, overlap_sample
from analytics.statistics.agreement.oracle import package_alpha
from analytics.statistics.agreement.patterns import Patterns, patterns_from_counts, patterns_from_long
from analytics.statistics.agreement.percent_agreement import percent_agreement
from analytics.statistics.agreement.running_alpha import RunningAlpha
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


# What must hold of any ratings.


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


# Against the krippendorff package.


@pytest.mark.parametrize("missing", [0.0, 0.2, 0.5, 0.7])
@pytest.mark.parametrize("level", LEVELS)
def test_alpha_equals_the_krippendorff_package(level, missing):
    random = np.random.default_rng(round(10 * missing))
    defined = 0
    for _ in range(60):
        raters, categories, number = (int(random.integers(2, top)) for top in (8, 8, 40))
        values = np.sort(random.choice(50, size=categories, replace=False)) / 4
        truth = random.choice(values, size=number)
        ratings = np.where(
            random.random((raters, number)) < 0.5, truth, random.choice(values, (raters, number))
        )
        ratings[random.random(ratings.shape) < missing] = np.nan
        patterns = patterns_from_long(np.tile(np.arange(number), raters), ratings.ravel())

        ours, theirs = krippendorff_alpha(patterns, level=level).alpha, package_alpha(patterns, level=level)

        assert (ours is None) == (theirs is None)
        if ours is not None:
            defined += 1
            assert ours == pytest.approx(theirs, abs=1e-12)
    assert defined > 40


@pytest.mark.parametrize(
    ("unit", "value"),
    [
        ([], []),
        ([1, 2], [3, 4]),
        ([1, 1], [3, 3]),
        ([1, 1, 2], [3, 3, 4]),
    ],
    ids=["no ratings", "no pairs", "one value", "no variation among pairs"],
)
def test_it_answers_none_where_the_package_refuses_or_answers_nan(unit, value):
    assert package_alpha(patterns_from_long(unit, value), level="nominal") is None


def test_it_refuses_data_that_the_package_has_no_memory_for():
    values = np.arange(3000.0)

    with pytest.raises(ValueError, match="would need about 302 GB"):
        package_alpha(patterns_from_long(np.arange(3000) // 2, values), level="interval")


# As votes come and go.


VALUES = (0.0, 1.0, 2.5, 4.0)
votes_cast = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.booleans()), max_size=25)
running_levels = st.sampled_from([*LEVELS, "symmetric"])


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


@given(votes_cast, running_levels)
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


# The first votes of each unit.


def nominal_alpha(unit: np.ndarray, value: np.ndarray) -> float:
    return krippendorff_alpha(patterns_from_long(unit, value), level="nominal").alpha


def test_the_first_votes_of_each_unit_are_kept_by_time():
    found = first_votes(["b", "a", "b", "a", "b"], [3, 2, 1, 5, 2], k=2, ids=[1, 2, 3, 4, 5])

    assert found.kept.tolist() == [False, True, True, True, True]
    assert (found.k, found.units, found.short) == (2, 2, 0)


def test_votes_of_the_same_time_follow_their_ids_whatever_order_they_come_in():
    unit, time, label = np.array([1, 1, 1]), np.array([7, 7, 7]), np.array([30, 10, 20])
    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2]):
        kept = first_votes(unit[order], time[order], k=2, ids=label[order]).kept
        assert sorted(label[order][kept]) == [10, 20]


def test_units_with_fewer_votes_keep_them_and_are_counted():
    found = first_votes([1, 1, 2], [1, 2, 3], k=2, ids=[1, 2, 3])

    assert found.kept.all()
    assert (found.units, found.short) == (2, 1)


@pytest.mark.parametrize("kind", ["datetime64", "objects"])
def test_times_may_be_dates(kind):
    days = [datetime(2026, 1, day, tzinfo=UTC) for day in (3, 1, 2)]
    times = (
        days if kind == "objects" else np.array(["2026-01-03", "2026-01-01", "2026-01-02"], "datetime64[D]")
    )

    assert first_votes([1, 1, 1], times, k=1, ids=["x", "y", "z"]).kept.tolist() == [False, True, False]


def test_no_votes_are_no_units():
    found = first_votes([], [], k=3, ids=[])
    assert (found.units, found.short, found.kept.size) == (0, 0, 0)


@pytest.mark.parametrize(
    ("columns", "k", "sentence"),
    [
        (([1], [1], [1]), 0, "k is at least 1"),
        (([1, 2], [1], [1]), 1, "columns of equal length"),
        (([1, 1], [1.0, float("nan")], [1, 2]), 1, "has no time"),
        (([1, 1], [1, None], [1, 2]), 1, "has no time"),
        (([1, 1], [1, 2], [5, 5]), 1, "the same id"),
    ],
)
def test_it_refuses_what_does_not_say_which_came_first(columns, k, sentence):
    unit, times, ids = columns
    with pytest.raises(ValueError, match=sentence):
        first_votes(unit, times, k=k, ids=ids)


def test_the_overlap_sample_is_drawn_by_lot_whatever_order_the_units_come_in():
    units = np.repeat(np.arange(1000), 2)
    chosen = overlap_sample(units, share=0.1, seed=4)

    assert len(chosen) == len(set(chosen.tolist())) == 100
    assert (overlap_sample(units[::-1], share=0.1, seed=4) == chosen).all()
    assert (overlap_sample(units, share=0.1, seed=5) != chosen).any()
    with pytest.raises(ValueError, match="between 0 and 1; got 0"):
        overlap_sample(units, share=0, seed=1)


def test_votes_that_were_asked_for_on_disagreement_bias_agreement_and_the_first_ones_do_not():
    """Two votes per unit, a third where they differ: all votes together overstate alpha and understate agreement."""
    random = np.random.default_rng(8)
    number = 200_000
    chance = random.beta(0.816, 0.816, number)  # agreement of pairs .69, alpha .38
    votes = (random.random((3, number)) < chance).astype(int)
    third = votes[0] != votes[1]
    unit = np.concatenate([np.arange(number), np.arange(number), np.flatnonzero(third)])
    value = np.concatenate([votes[0], votes[1], votes[2][third]])
    time = np.repeat([0, 1, 2], [number, number, third.sum()])
    shuffled = random.permutation(len(unit))
    unit, value, time = unit[shuffled], value[shuffled], time[shuffled]

    first = first_votes(unit, time, k=2, ids=np.arange(len(unit)))
    truth = nominal_alpha(np.tile(np.arange(number), 3), votes.ravel())
    drawn = np.isin(np.arange(number), overlap_sample(np.arange(number), share=0.2, seed=0))
    overlap = np.tile(drawn, 3)

    assert first.short == 0
    assert truth == pytest.approx(0.380, abs=0.005)
    assert nominal_alpha(unit[first.kept], value[first.kept]) == pytest.approx(truth, abs=0.006)
    assert nominal_alpha(np.tile(np.arange(number), 3)[overlap], votes.ravel()[overlap]) == pytest.approx(
        truth, abs=0.01
    )
    assert nominal_alpha(unit, value) == pytest.approx(0.464, abs=0.006)
    shares = [
        percent_agreement(patterns_from_long(unit[rows], value[rows])).pooled_pairs
        for rows in (first.kept, slice(None))
    ]
    assert shares == pytest.approx([0.690, 0.618], abs=0.003)
