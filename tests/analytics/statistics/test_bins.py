"""Bins of equal counts and of rating scales, and means within bins."""

from __future__ import annotations

import numpy as np
import pytest

from analytics.statistics.bins import bin_count, binned_means, equal_count_bins, rating_bins
from analytics.statistics.bootstrap import Resampling


def test_distinct_values_are_dealt_out_evenly():
    assert equal_count_bins(np.array([9.0, 1, 5, 3, 7, 2]), bins=3).tolist() == [2, 0, 1, 1, 2, 0]


def test_equal_values_share_a_bin_in_any_order():
    values = np.array([1.0] * 7 + [2, 3, 4])
    found = equal_count_bins(values, bins=5)
    assert len(set(found[:7])) == 1
    order = np.random.default_rng(0).permutation(10)
    assert equal_count_bins(values[order], bins=5).tolist() == found[order].tolist()


def test_bins_have_no_gaps_and_none_are_made_of_nothing():
    assert equal_count_bins(np.array([4.0, 4, 4]), bins=10).tolist() == [0, 0, 0]
    assert equal_count_bins(np.zeros(0), bins=3).tolist() == []
    with pytest.raises(ValueError, match="one bin"):
        equal_count_bins(np.ones(2), bins=0)


def test_a_binned_mean_is_that_of_its_items_and_resamples_their_clusters():
    x, y = [1, 2, 3, 4, np.nan, 6], [0, 1, 1, 1, 5, np.inf]
    x, y = [*x] * 5, [*y] * 5
    low, high = binned_means(
        x, y, most_bins=2, clusters=list("aabbcc") * 5, resampling=Resampling(replicates=50)
    )
    assert (low.x, low.lowest, low.highest, low.mean.value, low.n) == (1.5, 1, 2, 0.5, 10)
    assert (low.mean.interval, low.mean.reason) == (None, "one_cluster")
    assert (high.mean.value, high.mean.clusters) == (1.0, 1)


def test_an_interval_of_a_bin_is_the_clusters_own():
    (only,) = binned_means(
        [1] * 40,
        [0, 1] * 20,
        most_bins=4,
        clusters=[n // 2 for n in range(40)],
        resampling=Resampling(replicates=50),
    )
    # Each cluster holds a 0 and a 1, so that no resample differs.
    assert only.mean.interval == (0.5, 0.5)


def test_few_items_make_few_bins():
    assert [bin_count(n, most=6) for n in (0, 9, 25, 59, 60, 1000)] == [1, 1, 2, 5, 6, 6]


def test_points_are_shown_whether_or_not_they_were_given():
    found = rating_bins(np.array([5.0, 1.0]), points=(1.0, 2.0, 5.0), ends=(1.0, 5.0))
    assert (found.labels, found.ranges) == (("1", "2", "5"), False)
    assert found.counts(np.array([5.0, 5.0, 1.0])).tolist() == [1, 0, 2]


def test_few_values_of_a_continuous_scale_are_shown_one_by_one():
    assert rating_bins(np.array([2.5, 7.0, 2.5]), points=(), ends=(0.0, 10.0)).labels == ("2.5", "7")


def test_mushra_has_its_five_ranges_and_other_scales_ten():
    value = np.linspace(0, 100, 50)
    found = rating_bins(value, points=(), ends=(0.0, 100.0))
    assert found.labels == ("0–20", "20–40", "40–60", "60–80", "80–100")
    assert found.counts(np.array([0.0, 20, 100])).tolist() == [1, 1, 0, 0, 1]
    assert len(rating_bins(value / 10, points=(), ends=(0.0, 10.0)).labels) == 10


def test_without_ends_ranges_reach_as_far_as_the_ratings():
    found = rating_bins(np.linspace(-3, 7, 40), points=(), ends=None)
    assert (found.labels[0], found.labels[-1]) == ("-3–-2", "6–7")


def test_nothing_and_one_value_are_defined():
    assert rating_bins(np.zeros(0), points=(), ends=None).labels == ()
    assert rating_bins(np.array([3.0, 3.0]), points=(), ends=None).counts(np.array([3.0, 3.0])).tolist() == [
        2
    ]
