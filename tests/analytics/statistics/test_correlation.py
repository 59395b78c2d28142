"""Correlations against scipy, by hand, and where they are not defined."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analytics.statistics import correlation
from analytics.statistics.bootstrap import Resampling
from analytics.statistics.correlation import correlations, kendall, pearson, spearman

QUICK = Resampling(replicates=50)


def found(x, y, **more):
    result = correlations(x, y, resampling=QUICK, **more)
    return result.lcc.value, result.srcc.value, result.ktau.value


def test_it_counts_a_small_example_by_hand():
    # Of the six pairs five agree in order and one does not; ranks differ by 1 twice: 1 - 6 * 2 / (4 * 15).
    lcc, srcc, ktau = found([1, 2, 3, 10], [1, 3, 2, 4])
    assert (srcc, ktau) == (pytest.approx(0.8), pytest.approx(4 / 6))
    assert lcc == pytest.approx(np.corrcoef([1, 2, 3, 10], [1, 3, 2, 4])[0, 1])


def test_ties_share_ranks_and_leave_the_denominator():
    # One tie in x: C - D = 5 of six pairs, five of them untied in x.
    _, srcc, ktau = found([1, 1, 2, 3], [1, 2, 3, 4])
    assert ktau == pytest.approx(5 / np.sqrt(5 * 6))
    assert srcc == pytest.approx(4.5 / np.sqrt(4.5 * 5))


@pytest.mark.parametrize("seed", range(5))
def test_it_gives_what_scipy_gives_with_many_ties(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 6, 80).astype(float), rng.integers(0, 4, 80) + rng.random(80).round(1)
    assert found(x, y) == pytest.approx(
        (
            stats.pearsonr(x, y).statistic,
            stats.spearmanr(x, y).statistic,
            stats.kendalltau(x, y).statistic,
        ),
        abs=1e-12,
    )


@pytest.mark.parametrize("measure", [pearson, spearman, kendall])
def test_an_item_drawn_twice_counts_as_two(measure):
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 5, 12).astype(float), rng.random(12)
    weights = rng.integers(0, 3, (6, 12)).astype(float)
    theirs = {
        pearson: lambda a, b: stats.pearsonr(a, b).statistic,
        spearman: lambda a, b: stats.spearmanr(a, b).statistic,
        kendall: lambda a, b: stats.kendalltau(a, b).statistic,
    }[measure]
    expected = [theirs(np.repeat(x, w.astype(int)), np.repeat(y, w.astype(int))) for w in weights]
    assert measure(x, y)(weights) == pytest.approx(expected, abs=1e-12)


def test_large_values_keep_their_digits():
    x = 1e9 + np.array([0.0, 1.0, 2.0, 4.0])
    assert found(x, [1, 2, 3, 5])[0] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [
        ([1, 2], [1, 2], "too_few"),
        ([], [], "too_few"),
        ([1, 2, float("nan")], [1, 2, 3], "too_few"),
        ([0.5, 0.5, 0.5], [1, 2, 3], "constant_scores"),
        ([0.1 + 0.2, 0.3, 0.3], [1, 2, 3], "constant_scores"),
        ([1, 2, 3], [4, 4, 4], "constant_humans"),
    ],
)
def test_what_is_not_defined_is_none_with_its_reason(x, y, reason):
    result = correlations(x, y)
    for one in (result.lcc, result.srcc, result.ktau):
        assert (one.value, one.interval, one.reason) == (None, None, reason)


def test_items_without_a_score_are_left_out():
    nan = float("nan")
    assert found([1, nan, 2, 3, 9], [1, 7, 3, 2, nan]) == found([1, 2, 3], [1, 3, 2])


def test_resamples_that_do_not_vary_are_counted_and_left_out():
    result = correlations([1, 2, 3], [1, 3, 2], resampling=Resampling(replicates=400))
    # Three draws of three are one and the same item in 1 of 9 resamples.
    assert 20 < result.lcc.degenerate < 75
    assert result.lcc.interval == (-1.0, 1.0)
    assert result.lcc.degenerate == result.srcc.degenerate == result.ktau.degenerate


def test_items_of_one_cluster_come_and_go_together():
    rng = np.random.default_rng(0)
    x = np.repeat(rng.random(40), 5)
    y = x + rng.normal(0, 0.2, 40).repeat(5)
    apart = correlations(x, y).lcc.interval
    together = correlations(x, y, clusters=np.arange(40).repeat(5).tolist()).lcc.interval
    assert together[1] - together[0] > 1.7 * (apart[1] - apart[0])


def test_one_cluster_has_no_interval():
    result = correlations([1, 2, 3], [1, 2, 4], clusters=["a"] * 3).srcc
    assert (result.value, result.interval, result.reason) == (1.0, None, "one_cluster")


def test_tau_of_very_many_items_comes_without_an_interval(monkeypatch):
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 9, 60).astype(float), rng.random(60)
    few = correlations(x, y, resampling=QUICK)
    monkeypatch.setattr(correlation, "_MOST_RESAMPLED_BY_PAIRS", 59)
    many = correlations(x, y, resampling=QUICK)
    assert many.ktau.value == pytest.approx(few.ktau.value, abs=1e-12)
    assert (many.ktau.interval, many.ktau.reason, many.ktau.n) == (None, "too_many", 60)
    assert many.srcc == few.srcc
