"""Correlations against scipy, by hand, and where they are not defined."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analytics.statistics import correlation
from analytics.statistics.bootstrap import Resampling
from analytics.statistics.correlation import correlations, kendall, pearson, spearman, system_correlations

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


RNG = np.random.default_rng(5)
SYSTEMS = RNG.integers(6, size=80)
X = RNG.normal(size=80) + SYSTEMS
Y = np.round(X + RNG.normal(size=80))
PROMPTS = np.arange(80) // 4


def system_figures(x=X, y=Y, systems=SYSTEMS, **more):
    return system_correlations(x, y, systems, resampling=QUICK, **more)


def means(values, systems=SYSTEMS):
    return [values[systems == one].mean() for one in np.unique(systems)]


def test_figures_are_those_of_the_systems_means():
    x, y = means(X), means(Y)
    result = system_figures()
    assert result.lcc.value == pytest.approx(stats.pearsonr(x, y).statistic)
    assert result.srcc.value == pytest.approx(stats.spearmanr(x, y).statistic)
    assert result.ktau.value == pytest.approx(stats.kendalltau(x, y).statistic)
    assert (result.lcc.n, result.lcc.clusters) == (6, 80)


def test_ties_between_systems_are_ties():
    systems = np.repeat(np.arange(4), 2)
    x, y = np.repeat([1.0, 1, 2, 3], 2), np.repeat([1.0, 2, 2, 5], 2)
    result = system_figures(x, y, systems)
    assert result.srcc.value == pytest.approx(stats.spearmanr(x[::2], y[::2]).statistic)
    assert result.ktau.value == pytest.approx(stats.kendalltau(x[::2], y[::2]).statistic)


def test_a_resample_averages_anew_what_it_drew_of_each_system():
    result = system_correlations(
        X, Y, SYSTEMS, clusters=PROMPTS.tolist(), resampling=Resampling(replicates=1)
    )
    drawn = np.random.default_rng(0).integers(20, size=20)
    rows = np.concatenate([np.flatnonzero(one == PROMPTS) for one in drawn])
    x, y = (means(values[rows], SYSTEMS[rows]) for values in (X, Y))
    assert len(x) == 6
    for estimate, expected in (
        (result.lcc, stats.pearsonr(x, y)),
        (result.srcc, stats.spearmanr(x, y)),
        (result.ktau, stats.kendalltau(x, y)),
    ):
        assert estimate.interval == pytest.approx((expected.statistic, expected.statistic))


def test_a_system_that_was_not_drawn_is_left_out():
    # Six clusters of one system each: most resamples lack some, and are correlations of the others.
    result = system_figures(clusters=SYSTEMS.tolist())
    assert result.srcc.interval is not None
    assert np.isfinite(result.ktau.interval).all()


def test_items_without_score_count_in_neither_mean():
    x = X.copy()
    x[SYSTEMS == 2] = np.nan
    x[0] = np.inf
    kept = np.isfinite(x)
    assert system_figures(x).lcc.value == pytest.approx(
        stats.pearsonr(means(x[kept], SYSTEMS[kept]), means(Y[kept], SYSTEMS[kept])).statistic
    )
    assert system_figures(x).lcc.n == 5


@pytest.mark.parametrize(
    ("x", "y", "systems", "reason"),
    [
        ([1.0, 2, 3], [1.0, 2, 3], [0, 0, 1], "too_few"),
        ([1.0, 1, 1], [1.0, 2, 3], [0, 1, 2], "constant_scores"),
        ([1.0, 2, 3], [2.0, 2, 2], [0, 1, 2], "constant_humans"),
        ([np.nan] * 3, [2.0, 2, 2], [0, 1, 2], "too_few"),
    ],
)
def test_where_there_is_none_a_reason_says_why(x, y, systems, reason):
    result = system_figures(x, y, systems)
    assert (result.lcc.value, result.ktau.reason) == (None, reason)
