"""Means, medians and deviations of systems' ratings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analytics.statistics.ratings.mean_opinion import Ratings, mean_opinion_score, mean_opinion_scores


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
