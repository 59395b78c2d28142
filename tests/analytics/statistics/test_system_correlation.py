"""System-level correlations beside scipy, on means made by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analytics.statistics.bootstrap import Resampling
from analytics.statistics.correlation import system_correlations

RNG = np.random.default_rng(5)
SYSTEMS = RNG.integers(6, size=80)
X = RNG.normal(size=80) + SYSTEMS
Y = np.round(X + RNG.normal(size=80))
PROMPTS = np.arange(80) // 4
QUICK = Resampling(replicates=60)


def found(x=X, y=Y, systems=SYSTEMS, **more):
    return system_correlations(x, y, systems, resampling=QUICK, **more)


def means(values, systems=SYSTEMS):
    return [values[systems == one].mean() for one in np.unique(systems)]


def test_figures_are_those_of_the_systems_means():
    x, y = means(X), means(Y)
    result = found()
    assert result.lcc.value == pytest.approx(stats.pearsonr(x, y).statistic)
    assert result.srcc.value == pytest.approx(stats.spearmanr(x, y).statistic)
    assert result.ktau.value == pytest.approx(stats.kendalltau(x, y).statistic)
    assert (result.lcc.n, result.lcc.clusters) == (6, 80)


def test_ties_between_systems_are_ties():
    systems = np.repeat(np.arange(4), 2)
    x, y = np.repeat([1.0, 1, 2, 3], 2), np.repeat([1.0, 2, 2, 5], 2)
    result = found(x, y, systems)
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
    result = found(clusters=SYSTEMS.tolist())
    assert result.srcc.interval is not None
    assert np.isfinite(result.ktau.interval).all()


def test_items_without_score_count_in_neither_mean():
    x = X.copy()
    x[SYSTEMS == 2] = np.nan
    x[0] = np.inf
    kept = np.isfinite(x)
    assert found(x).lcc.value == pytest.approx(
        stats.pearsonr(means(x[kept], SYSTEMS[kept]), means(Y[kept], SYSTEMS[kept])).statistic
    )
    assert found(x).lcc.n == 5


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
    result = found(x, y, systems)
    assert (result.lcc.value, result.ktau.reason) == (None, reason)
