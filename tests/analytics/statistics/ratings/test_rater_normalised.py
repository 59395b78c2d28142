"""Raters' severity: as least squares have it, found again where it was put in, and gone from what is adjusted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analytics.statistics.ratings.rater_severity import rater_severities, z_scored


def scattered(seed: int = 0, *, units: int = 40, raters: int = 6, n: int = 150):
    rng = np.random.default_rng(seed)
    severity = rng.normal(0, 0.7, raters)
    unit, rater = rng.integers(0, units, n), rng.integers(0, raters, n)
    value = rng.normal(3, 1, units)[unit] - severity[rater] + rng.normal(0, 0.3, n)
    return unit, rater, value, severity


def test_severities_solve_the_least_squares_written_out():
    unit, rater, value, _ = scattered()
    ridge = 0.5
    design = np.zeros((150 + 6, 40 + 6))
    design[np.arange(150), unit] = 1
    design[np.arange(150), 40 + rater] = -1
    design[150 + np.arange(6), 40 + np.arange(6)] = np.sqrt(ridge)
    solved = np.linalg.lstsq(design, np.concatenate([value, np.zeros(6)]), rcond=None)[0]
    found = rater_severities(unit, rater, value, ridge=ridge)
    expected = solved[40:] - solved[40:][rater].mean()
    assert found.converged
    assert found.severity == pytest.approx(expected, abs=1e-8)
    assert found.residual == pytest.approx(value - solved[unit] + solved[40 + rater], abs=1e-8)


def test_severity_is_found_again_and_adjusted_ratings_are_free_of_it():
    unit, rater, value, severity = scattered(1, units=400, raters=20, n=4000)
    found = rater_severities(unit, rater, value)
    centred = severity - severity[rater].mean()
    assert np.abs(found.severity - centred).max() < 0.1
    misses = np.abs(found.severity - centred) / np.array(found.se)
    assert (misses < 2).mean() > 0.8
    assert found.adjusted.mean() == pytest.approx(value.mean())
    assert max(found.residual_sd) < 0.4


def test_who_shares_no_unit_keeps_their_ratings_and_has_no_error():
    found = rater_severities(np.array([0, 0, 1, 2]), np.array([0, 1, 2, 2]), np.array([5.0, 3, 1, 2]))
    assert found.shared.tolist() == [1, 1, 0]
    assert found.n.tolist() == [1, 1, 2]
    assert found.se[2] is None
    assert found.severity[1] > found.severity[2] > found.severity[0]


def test_rating_a_unit_twice_oneself_is_no_comparison():
    found = rater_severities(np.array([0, 0]), np.array([0, 0]), np.array([5.0, 1]))
    assert (found.shared.tolist(), found.severity.tolist(), found.se) == ([0], [0.0], (None,))


def test_one_rater_and_no_ratings_are_defined():
    assert rater_severities(
        np.arange(3), np.zeros(3, dtype=int), np.array([1.0, 2, 3])
    ).severity.tolist() == [0]
    none = np.zeros(0, dtype=np.int64)
    assert rater_severities(none, none, np.zeros(0)).severity.tolist() == []


def test_unnamed_raters_and_a_missing_ridge_are_refused():
    with pytest.raises(ValueError, match="unnamed"):
        rater_severities(np.array([0]), np.array([-1]), np.array([1.0]))
    with pytest.raises(ValueError, match="ridge"):
        rater_severities(np.array([0]), np.array([0]), np.array([1.0]), ridge=0)


def test_z_scores_are_scipys_on_the_scale_of_the_ratings():
    rng = np.random.default_rng(2)
    rater = np.repeat([0, 1, 2], 30)
    value = rng.normal(3, 1, 90) * np.array([1, 2, 0.5])[rater] + rater
    found = z_scored(value, rater)
    for one in range(3):
        own = value[rater == one]
        assert stats.zscore(found.value[rater == one], ddof=1) == pytest.approx(stats.zscore(own, ddof=1))
    assert found.value.mean() == pytest.approx(value.mean())
    sds = [found.value[rater == one].std(ddof=1) for one in range(3)]
    within = np.sqrt(np.mean([value[rater == one].var(ddof=1) for one in range(3)]))
    assert sds == pytest.approx([within] * 3)


def test_raters_who_say_nothing_about_differences_are_left_out_of_z_scores():
    found = z_scored(np.array([1.0, 5, 0.1, 0.1, 0.1, 4]), np.array([0, 0, 1, 1, 1, 2]))
    assert found.left_out == 2
    assert np.isnan(found.value).tolist() == [False, False, True, True, True, True]
    assert np.isnan(z_scored(np.array([3.0]), np.array([0])).value).all()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.1, 20), st.floats(-50, 50))
def test_another_unit_of_the_scale_and_other_numbers_change_nothing_else(seed, stretch, shift):
    unit, rater, value, _ = scattered(seed, units=8, raters=4, n=30)
    here, there = rater_severities(unit, rater, value), rater_severities(unit, rater, stretch * value + shift)
    assert there.severity == pytest.approx(stretch * here.severity, abs=1e-6)
    assert there.adjusted == pytest.approx(stretch * here.adjusted + shift, abs=1e-6)
    turned, renamed = np.random.default_rng(seed).permutation(30), np.array([2, 0, 3, 1])
    other = rater_severities(unit[turned], renamed[rater[turned]], value[turned])
    assert other.severity[renamed[np.unique(rater)]] == pytest.approx(
        here.severity[np.unique(rater)], abs=1e-8
    )
    scored, moved = z_scored(value, rater).value, z_scored(stretch * value + shift, rater).value
    assert moved == pytest.approx(stretch * scored + shift, abs=1e-6, nan_ok=True)
