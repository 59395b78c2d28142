"""The values and ranges that ratings are counted by."""

from __future__ import annotations

import numpy as np

from analytics.statistics.bins import rating_bins


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
