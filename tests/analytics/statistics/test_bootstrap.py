"""Intervals: seeded, as wide as theory says, honest about resamples without a figure."""

from __future__ import annotations

import numpy as np
import pytest

from analytics.statistics import bootstrap
from analytics.statistics.bootstrap import Resampling, estimate, number_clusters, weighted_mean


def interval(values, clusters=None, **resampling):
    groups = number_clusters(clusters, n=len(values))
    return estimate(weighted_mean(np.array(values, float)), groups, resampling=Resampling(**resampling))


def test_the_same_seed_gives_the_same_interval():
    values = np.random.default_rng(1).random(50)
    assert interval(values, seed=4) == interval(values, seed=4)
    assert interval(values, seed=4).interval != interval(values, seed=5).interval


def test_the_interval_of_a_share_is_as_wide_as_the_binomial_says():
    found = interval([1] * 150 + [0] * 250, replicates=4000)
    half = 1.96 * np.sqrt(0.375 * 0.625 / 400)
    assert found.value == pytest.approx(0.375)
    assert found.interval == pytest.approx((0.375 - half, 0.375 + half), abs=0.006)


def test_copies_of_an_item_in_its_cluster_tell_nothing_new():
    values = [1] * 15 + [0] * 25
    once = interval(values, replicates=500)
    copied = interval(values * 3, list(range(40)) * 3, replicates=500)
    assert (copied.n, copied.clusters) == (120, 40)
    assert copied.interval == pytest.approx(once.interval)


def test_many_items_are_resampled_a_few_at_a_time(monkeypatch):
    values = np.random.default_rng(1).random(30)
    whole = interval(values, replicates=20)
    monkeypatch.setattr(bootstrap, "_CELLS", 90)
    parts = interval(values, replicates=20)
    assert parts.replicates == 20
    assert parts.interval == pytest.approx(whole.interval, abs=0.1)


def test_no_interval_where_most_resamples_have_no_figure():
    def rarely(weights):
        return np.where(np.arange(len(weights)) == 0, 1.0, np.nan)

    found = estimate(rarely, np.arange(5), resampling=Resampling(replicates=10))
    assert (found.value, found.interval, found.reason) == (1.0, None, "mostly_undefined")
    assert found.degenerate == 9


@pytest.mark.parametrize("wrong", [{"level": 1.0}, {"level": 0.0}, {"replicates": 0}])
def test_it_refuses_levels_and_counts_that_mean_nothing(wrong):
    with pytest.raises(ValueError, match="level between"):
        Resampling(**wrong)


def test_every_item_needs_a_cluster():
    with pytest.raises(ValueError, match="3 items but 2 clusters"):
        number_clusters(["a", "b"], n=3)
