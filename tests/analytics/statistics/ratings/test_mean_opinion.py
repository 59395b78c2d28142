"""Means, medians and deviations of systems' ratings."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analytics.statistics.bootstrap import Resampling
from analytics.statistics.ratings.mean_opinion import (
    NO_SHARED,
    TOO_FEW,
    Ratings,
    SystemPair,
    compact_letters,
    holm_adjusted,
    mean_opinion_score,
    mean_opinion_scores,
    mostly_shared,
    system_pairs,
)


def ratings(system, value, *, item=None, rater=None) -> Ratings:
    n = len(value)
    return Ratings(
        np.asarray(system, dtype=np.int64),
        np.arange(n),
        np.arange(n) if item is None else np.asarray(item),
        np.full(n, -1) if rater is None else np.asarray(rater),
        np.asarray(value, dtype=float),
    )


def test_figures_are_the_textbook_ones():
    value = np.array([2.0, 3, 5, 5, 1, 4, 4])
    found = mean_opinion_score(ratings([0] * 7, value), level=0.95)
    assert (found.ratings, found.units, found.mean, found.median) == (7, 7, value.mean(), 4.0)
    assert found.sd == pytest.approx(value.std(ddof=1))
    assert found.quartiles == tuple(np.quantile(value, [0.25, 0.75]))
    assert found.interval == pytest.approx(stats.t.interval(0.95, 6, value.mean(), stats.sem(value)))


def test_the_best_comes_first_and_votes_without_a_system_are_in_no_row():
    found = mean_opinion_scores(ratings([2, 0, 0, 1, -1], [3, 1, 2, 3, 5]), level=0.95)
    assert [one.system for one in found] == [1, 2, 0]


def test_the_order_of_the_ratings_leaves_no_trace():
    rng = np.random.default_rng(0)
    system, value, item, rater = (
        rng.integers(0, 3, 50),
        rng.integers(1, 6, 50),
        np.arange(50) % 11,
        np.arange(50) % 4,
    )
    turned = rng.permutation(50)
    here = mean_opinion_scores(ratings(system, value, item=item, rater=rater), level=0.95)
    there = mean_opinion_scores(
        ratings(system[turned], value[turned], item=item[turned], rater=rater[turned]), level=0.95
    )
    for one, other in zip(here, there, strict=True):
        assert one.interval == pytest.approx(other.interval, abs=1e-12)
        assert (one.system, one.median) == (other.system, other.median)


def test_one_unnamed_rating_leaves_the_raters_out():
    found = mean_opinion_score(
        ratings([0] * 4, [1, 2, 3, 4], item=[0, 1, 0, 1], rater=[0, 0, 1, -1]), level=0.95
    )
    assert (found.uncertainty.raters, found.uncertainty.by_raters) == (0, False)


def test_equal_ratings_one_rating_and_none_have_no_interval():
    same = mean_opinion_score(ratings([0] * 3, [0.1] * 3), level=0.95)
    assert (same.interval, same.uncertainty.reason, same.sd) == (None, "no_spread", 0.0)
    single = mean_opinion_score(ratings([0], [4]), level=0.95)
    assert (single.mean, single.sd, single.uncertainty.reason) == (4.0, None, "one_cluster")
    none = mean_opinion_score(ratings([], []), level=0.95)
    assert (none.mean, none.median, none.uncertainty.reason) == (None, None, "no_ratings")


def test_infinite_ratings_are_refused():
    with pytest.raises(ValueError, match="finite"):
        ratings([0], [float("inf")])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.1, 20), st.floats(-50, 50))
def test_another_unit_of_the_scale_stretches_the_interval_and_nothing_else(seed, stretch, shift):
    rng = np.random.default_rng(seed)
    value, item, rater = rng.integers(1, 6, 40), rng.integers(0, 9, 40), rng.integers(0, 5, 40)
    here = mean_opinion_score(ratings([0] * 40, value, item=item, rater=rater), level=0.95)
    there = mean_opinion_score(ratings([0] * 40, stretch * value + shift, item=item, rater=rater), level=0.95)
    assert there.mean == pytest.approx(stretch * here.mean + shift)
    assert there.uncertainty.se == pytest.approx(stretch * here.uncertainty.se)
    # Said twice over by everybody, nothing is surer than before.
    twice = ratings([0] * 80, np.tile(value, 2), item=np.tile(item, 2), rater=np.tile(rater, 2))
    assert mean_opinion_score(twice, level=0.95).uncertainty.se == pytest.approx(here.uncertainty.se)


RESAMPLING = Resampling()


def table(values: np.ndarray, *, rater: np.ndarray | None = None) -> Ratings:
    """(items, systems) one rating each; NaN for none."""
    item, system = np.nonzero(~np.isnan(values))
    given_ = values[item, system]
    raters = np.full(len(item), -1) if rater is None else rater[item]
    return Ratings(system, np.arange(len(item)), item, raters, given_)


def compared(ratings: Ratings, *, paired: bool = True) -> list[SystemPair]:
    order = np.unique(ratings.system).tolist()
    return system_pairs(ratings, order, shared=ratings.item, paired=paired, resampling=RESAMPLING)


def test_few_items_are_swapped_in_every_way():
    rng = np.random.default_rng(3)
    values = rng.integers(1, 6, (9, 2)).astype(float)
    (found,) = compared(table(values))
    expected = stats.permutation_test(
        (values[:, 0], values[:, 1]), lambda a, b: np.mean(a - b), permutation_type="samples", n_resamples=np.inf
    )  # fmt: skip
    assert found.difference == pytest.approx((values[:, 0] - values[:, 1]).mean())
    assert found.p == pytest.approx(expected.pvalue)
    low, high = stats.ttest_rel(values[:, 0], values[:, 1]).confidence_interval()
    assert found.interval == pytest.approx((low, high))


@pytest.mark.parametrize(("items", "tolerance"), [(40, 0.02), (700, 0.005)])
def test_many_items_are_swapped_by_chance_and_very_many_as_if_normal(items, tolerance):
    rng = np.random.default_rng(4)
    values = np.stack([rng.normal(0.22 * (40 / items) ** 0.5, 1, items), rng.normal(0, 1, items)], axis=1)
    (found,) = compared(table(values))
    assert found.p == pytest.approx(stats.ttest_rel(values[:, 0], values[:, 1]).pvalue, abs=tolerance)


def test_a_clear_difference_shows_however_few_prompts_and_many_systems_there_are():
    # Eight systems give 28 pairs. The clearest swap of 10 prompts has a p of 1/512, and 28/512 is above 0.05.
    rng = np.random.default_rng(5)
    values = 10.0 * np.arange(8) + rng.normal(0, 1, (10, 8))
    found = compared(table(values))
    assert all(one.adjusted < 0.001 and not one.swapped for one in found)
    assert found[0].p == pytest.approx(stats.ttest_rel(values[:, 0], values[:, 1]).pvalue)
    assert len(set(compact_letters(range(8), found, level=0.95).values())) == 8
    assert all(one.swapped for one in compared(table(values[:, :7])))


def test_more_ways_are_drawn_where_more_is_asked_of_each_pair():
    # The smallest p of 9,999 ways times the ten pairs is 0.001, which is not below 0.001.
    ratings = table(10.0 * np.arange(5) + np.random.default_rng(6).normal(0, 1, (18, 5)))
    strict = Resampling(level=0.999)
    found = system_pairs(ratings, range(5), shared=ratings.item, paired=True, resampling=strict)
    assert all(one.swapped and one.adjusted < 0.001 for one in found)


def test_means_are_compared_where_items_were_dealt_out():
    rng = np.random.default_rng(7)
    values = rng.normal(3, 1, (400, 2))
    values[np.arange(400), rng.integers(0, 2, 400)] = np.nan
    ratings = table(values)
    assert not mostly_shared(ratings, ratings.item)
    (found,) = compared(ratings, paired=False)
    welch = stats.ttest_ind(
        ratings.value[ratings.system == 0], ratings.value[ratings.system == 1], equal_var=False
    )
    assert found.items == 0
    assert found.p == pytest.approx(welch.pvalue, abs=0.01)
    (undefined,) = compared(ratings, paired=True)
    assert (undefined.difference, undefined.reason) == (None, NO_SHARED)


def test_a_system_with_one_item_is_not_taken_for_certain():
    value = np.array([1.0, 2, 1, 2, 1, 2, 1, 2, 1, 5])
    ratings = Ratings(np.array([0] * 9 + [1]), np.arange(10), np.arange(10), np.full(10, -1), value)
    (found,) = compared(ratings, paired=False)
    assert found.difference == pytest.approx(13 / 9 - 5)
    assert (found.interval, found.p, found.reason) == (None, None, TOO_FEW)


def test_every_item_weighs_the_same_however_many_rated_it():
    # Item 0: 5 against 1, the 5 said three times; item 1: 2 against 2.
    ratings = Ratings(
        np.array([0, 0, 0, 1, 0, 1]), np.arange(6), np.array([0, 0, 0, 0, 1, 1]), np.full(6, -1),
        np.array([5.0, 5, 5, 1, 2, 2]),
    )  # fmt: skip
    (found,) = compared(ratings)
    assert (found.items, found.difference, found.p, found.reason) == (2, 2.0, None, TOO_FEW)
    assert mostly_shared(ratings, ratings.item)


def test_few_raters_make_a_difference_less_sure_than_items_alone_would():
    rng = np.random.default_rng(11)
    rater, taste = np.arange(60) % 4, rng.normal(0, 1, 4)
    values = np.stack([0.4 + taste[rater] + rng.normal(0, 0.5, 60), rng.normal(0, 0.5, 60)], axis=1)
    (unnamed,), (named,) = compared(table(values)), compared(table(values, rater=rater))
    assert unnamed.p < 0.01 < named.p
    assert named.interval[1] - named.interval[0] > 2 * (unnamed.interval[1] - unnamed.interval[0])


def test_equal_systems_do_not_differ():
    (found,) = compared(table(np.full((8, 2), 3.0)))
    assert (found.difference, found.p, found.adjusted, found.interval) == (0.0, 1.0, 1.0, None)
    assert found.reason == "no_spread"


def test_p_values_are_corrected_as_holm_did():
    assert holm_adjusted([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm_adjusted([0.9, 0.8]) == [1.0, 1.0]
    assert holm_adjusted([]) == []


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 7), st.data())
def test_two_systems_share_a_letter_unless_they_differ(n, data):
    pairs = [
        SystemPair(a, b, 9, 0.0, None, p, p, None)
        for a, b in combinations(range(n), 2)
        if (p := data.draw(st.sampled_from([0.01, 0.6]))) is not None
    ]
    found = compact_letters(range(n), pairs, level=0.95)
    for one in pairs:
        together = bool(set(found[one.first]) & set(found[one.second]))
        assert together == (one.adjusted > 0.05)
    assert all(found.values())


def test_letters_go_from_the_best_down():
    pairs = [
        SystemPair(a, b, 9, 0.0, None, p, p, None) for a, b, p in [(2, 0, 0.3), (2, 1, 0.001), (0, 1, 0.2)]
    ]
    assert compact_letters([2, 0, 1], pairs, level=0.95) == {2: "a", 0: "ab", 1: "b"}
