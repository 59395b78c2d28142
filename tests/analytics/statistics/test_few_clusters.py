"""Quantiles for few clusters: what they make up for, and that it suffices."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from analytics.statistics.bootstrap import Resampling
from analytics.statistics.intervals import expanded_percentiles, t_quantile
from analytics.statistics.ranking.position_bias import position_bias


@pytest.mark.parametrize("clusters", [5, 12, 80])
def test_a_normal_mean_gets_the_interval_of_students_t(clusters):
    """Its bootstrap is normal with a variance of (G - 1) / G of what it should be."""
    below, above = expanded_percentiles(0.95, clusters)
    drawn = NormalDist(0, math.sqrt((clusters - 1) / clusters))
    assert drawn.inv_cdf(above) == pytest.approx(t_quantile(0.975, df=clusters - 1), rel=1e-9)
    assert below == pytest.approx(1 - above)


def test_many_clusters_need_nothing_made_up_for():
    assert expanded_percentiles(0.9, 100_000) == pytest.approx((0.05, 0.95), abs=1e-5)


@pytest.mark.parametrize("raters", [5, 9])
def test_without_bias_the_interval_rarely_leaves_out_one_half(raters):
    rng, found = np.random.default_rng(raters), []
    for _ in range(250):
        first = rng.random(raters * 100) < 0.5
        by = np.repeat(np.arange(raters), 100)
        found.append(position_bias(first, clusters=by, resampling=Resampling(replicates=200)).first.interval)
    assert np.mean([low <= 0.5 <= high for low, high in found]) > 0.89


@pytest.mark.parametrize("raters", [2, 4])
def test_fewer_than_five_give_no_interval_and_say_so(raters):
    by = np.repeat(np.arange(raters), 10)
    found = position_bias(by + np.arange(len(by)) % 3 > 1, clusters=by, resampling=Resampling(replicates=20))
    assert (found.first.interval, found.first.reason) == (None, "few_clusters")
    with pytest.raises(ValueError, match="5 clusters or more"):
        expanded_percentiles(0.95, raters)
