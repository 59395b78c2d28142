"""The uncertainty of a mean over ratings that are alike within raters and within items."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analytics.statistics.intervals import (
    NO_RATINGS,
    NO_SPREAD,
    ONE_CLUSTER,
    two_sided_t_p,
    two_way_standard_error,
)


def of_mean(value, item, rater=None):
    value = np.asarray(value, dtype=float)
    scores = (value - value.mean()) / len(value)
    return two_way_standard_error(
        scores, items=np.asarray(item), raters=None if rater is None else np.asarray(rater)
    )


def test_independent_ratings_have_the_textbook_interval():
    value = np.array([1.0, 2, 2, 5, 3, 4])
    found = of_mean(value, np.arange(6))
    assert found.se == pytest.approx(stats.sem(value))
    low, high = stats.t.interval(0.9, 5, value.mean(), stats.sem(value))
    assert found.half_width(0.9) == pytest.approx((high - low) / 2)
    assert two_sided_t_p(value.mean(), found) == pytest.approx(stats.ttest_1samp(value, 0).pvalue)


def test_variances_of_raters_items_and_cells_are_put_together():
    rng = np.random.default_rng(5)
    item, rater = rng.integers(0, 9, 60), rng.integers(0, 5, 60)
    value = rng.normal(size=9)[item] + rng.normal(size=5)[rater] + 0.3 * rng.normal(size=60)
    residual = value - value.mean()

    def between(labels: list) -> float:
        groups = set(labels)
        sums = [sum(r for r, one in zip(residual, labels, strict=True) if one == group) for group in groups]
        return len(groups) / (len(groups) - 1) * sum(total**2 for total in sums) / 60**2

    cells = list(zip(item.tolist(), rater.tolist(), strict=True))
    expected = between(item.tolist()) + between(rater.tolist()) - between(cells)
    found = of_mean(value, item, rater)
    assert found.se == pytest.approx(np.sqrt(expected))
    assert (found.df, found.raters, found.items) == (4, 5, 9)


def test_the_variance_is_never_below_that_of_either_way_alone():
    # Both raters rate the same on average, so less the cells' variance there would be less than between items.
    value, item, rater = [1, 5, 5, 1, 2, 4], [0, 1, 0, 1, 2, 3], [0, 0, 1, 1, 0, 0]
    assert of_mean(value, item, rater).se == pytest.approx(of_mean(value, item).se)


def test_intervals_cover_the_truth_where_ratings_taken_for_independent_do_not():
    rng, covered, naive, runs = np.random.default_rng(2), 0, 0, 300
    item = np.repeat(np.arange(40), 3)
    for _ in range(runs):
        rater = np.argsort(rng.random((40, 15)), axis=1)[:, :3].ravel()
        value = rng.normal(0, 0.8, 40)[item] + rng.normal(0, 0.5, 15)[rater] + rng.normal(0, 0.7, 120)
        covered += abs(value.mean()) <= of_mean(value, item, rater).half_width(0.95)
        naive += abs(value.mean()) <= of_mean(value, np.arange(120)).half_width(0.95)
    assert 0.92 < covered / runs <= 1
    assert naive / runs < 0.85


@pytest.mark.parametrize(
    ("value", "item", "rater", "reason"),
    [
        ([], [], None, NO_RATINGS),
        ([1, 5], [0, 0], None, ONE_CLUSTER),
        ([1, 5], [0, 0], [0, 0], ONE_CLUSTER),
        ([1, 5, 5, 1], [0, 0, 1, 1], None, NO_SPREAD),
    ],
)
def test_what_cannot_be_told_has_a_reason(value, item, rater, reason):
    found = two_way_standard_error(
        np.asarray(value, float) - (np.mean(value) if value else 0),
        items=np.asarray(item, dtype=np.int64),
        raters=None if rater is None else np.asarray(rater),
    )
    assert (found.se, found.reason, found.half_width(0.95), two_sided_t_p(1.0, found)) == (
        None,
        reason,
        None,
        None,
    )


def test_one_rater_leaves_the_items_and_one_item_the_raters():
    by_items, by_raters = of_mean([1, 2, 4], [0, 1, 2], [0, 0, 0]), of_mean([1, 2, 4], [0, 0, 0], [0, 1, 2])
    assert (by_items.by_raters, by_items.by_items, by_items.df) == (False, True, 2)
    assert (by_raters.by_raters, by_raters.by_items, by_raters.df) == (True, False, 2)
