"""Errors of ratings and variances, with their references."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from analytics.statistics.arrays import group_variances
from analytics.statistics.bootstrap import Resampling
from analytics.statistics.judges.accuracy import absolute_error, variance_error

QUICK = Resampling(replicates=30)


def test_the_error_is_the_mean_distance_and_the_median_its_best_constant():
    scores, humans = [0.0, 0.5, 1, np.nan], [0.25, 0.25, 1, 1]
    found = absolute_error(scores, humans, resampling=QUICK)
    assert found.error.value == pytest.approx((0.25 + 0.25 + 0) / 3)
    assert found.constant == pytest.approx(0.25)
    best = min(np.abs(np.array([0.25, 0.25, 1]) - at).mean() for at in np.linspace(0, 1, 1001))
    assert found.constant == pytest.approx(best)
    assert found.error.interval is not None
    assert absolute_error([np.nan], [1.0]).error.reason == "no_items"


def test_variances_are_unbiased_and_need_two_ratings():
    unit, value = np.array([0, 0, 1, 2, 2, 2]), np.array([0, 1, 0.5, 0, 0.5, 1])
    found = group_variances(unit, value, size=4, ddof=1)
    assert found[[0, 2]] == pytest.approx([np.var([0, 1], ddof=1), np.var([0, 0.5, 1], ddof=1)])
    assert np.isnan(found[[1, 3]]).all()


def test_variances_count_from_three_ratings_on():
    unit = np.repeat([0, 1, 2], [2, 3, 4])
    value = np.array([0, 1, 0, 0.5, 1, 0, 0, 1, 1])
    found = variance_error([0.1, 0.2, np.nan], unit, value, resampling=QUICK)
    assert found.error.value == pytest.approx(abs(0.2 - np.var([0, 0.5, 1], ddof=1)))
    assert found.error.n == 1
    found = variance_error([0.1, 0.2, 0.3], unit, value, resampling=QUICK)
    own = [np.var([0, 0.5, 1], ddof=1), np.var([0, 0, 1, 1], ddof=1)]
    assert found.error.value == pytest.approx(np.mean([abs(0.2 - own[0]), abs(0.3 - own[1])]))
    assert found.constant == pytest.approx(abs(own[0] - own[1]) / 2)
    assert variance_error([np.nan] * 3, unit, value).floor is None


def test_the_floor_is_what_chance_leaves_to_one_who_knows():
    rng = np.random.default_rng(2)
    # Everybody's chances are the same, so that many units show the truth.
    points, chance = np.array([0, 0.25, 0.5, 0.75, 1]), [0.1, 0.2, 0.4, 0.2, 0.1]
    unit, value = np.repeat(np.arange(3000), 50), rng.choice(points, size=150_000, p=chance)
    true = np.dot(chance, points**2) - np.dot(chance, points) ** 2
    found = variance_error(np.full(3000, true), unit, value, resampling=QUICK)
    assert found.floor == pytest.approx(found.error.value, rel=0.05)
    assert variance_error(np.full(3000, true), unit, value, resampling=QUICK).floor == found.floor


@pytest.mark.parametrize(("spread", "noise"), [(1.5, 0.5), (4.0, 0.4)])
def test_the_floor_is_near_what_it_would_be_if_the_truth_were_known(spread, noise):
    rng = np.random.default_rng(3)
    points, cuts = np.array([0, 0.25, 0.5, 0.75, 1]), np.array([-np.inf, -1.5, -0.5, 0.5, 1.5, np.inf])
    middle, width = rng.normal(size=1200) * spread, noise * np.exp(rng.normal(size=1200) / 2)
    chance = np.diff(norm.cdf((cuts - middle[:, None]) / width[:, None]), axis=1)
    drawn = rng.multinomial(3, chance / chance.sum(axis=1, keepdims=True))
    true = chance @ points**2 - (chance @ points) ** 2
    value = np.concatenate([np.repeat(points, row) for row in drawn])
    found = variance_error(true, np.repeat(np.arange(1200), 3), value, resampling=Resampling(replicates=2))
    assert found.floor == pytest.approx(found.error.value, rel=0.12)


def test_people_who_never_differ_leave_nothing_to_chance():
    found = variance_error([0.0, 0.2], np.repeat([0, 1], 3), np.repeat([0.25, 1.0], 3), resampling=QUICK)
    assert (found.error.value, found.floor) == (pytest.approx(0.1), pytest.approx(0))
