"""Differences between two scorers, against brute force and against what must hold of any difference."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analytics.statistics.bootstrap import Resampling
from analytics.statistics.judges.paired_difference import (
    accuracy_difference,
    mean_difference,
    rank_difference,
)

RESAMPLING = Resampling(seed=3, replicates=300)
NAN = float("nan")


def clustered(n: int = 60, groups: int = 12, seed: int = 1) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    human = rng.normal(size=n)
    return (
        human + rng.normal(scale=0.3, size=n),
        human + rng.normal(scale=3, size=n),
        human,
        np.arange(n) % groups,
    )


def test_the_interval_is_that_of_clusters_drawn_with_all_they_hold():
    first, second, _, cluster = clustered()
    found = mean_difference(first, second, clusters=cluster.tolist(), resampling=RESAMPLING)
    drawn = np.random.default_rng(3).integers(12, size=(300, 12))
    means = []
    for groups in drawn:
        rows = np.concatenate([np.flatnonzero(cluster == group) for group in groups])
        means.append((first - second)[rows].mean())
    assert found.difference.value == pytest.approx((first - second).mean())
    assert found.difference.interval == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])))
    assert (found.first, found.second) == (pytest.approx(first.mean()), pytest.approx(second.mean()))


def test_a_clearly_better_scorer_is_told_from_a_worse_one_and_not_from_itself():
    first, second, human, cluster = clustered()
    clusters = cluster.tolist()
    better = accuracy_difference(first, second, human, clusters=clusters, resampling=RESAMPLING)
    assert better.difference.value > 0.1
    assert better.could_be_chance is False
    same = accuracy_difference(first, first, human, clusters=clusters, resampling=RESAMPLING)
    assert (same.difference.value, same.difference.interval, same.could_be_chance) == (0.0, (0.0, 0.0), True)


def test_exchanging_the_two_turns_the_difference_round():
    first, second, human, cluster = clustered()
    for differ in (accuracy_difference, rank_difference):
        one = differ(first, second, human, clusters=cluster.tolist(), resampling=RESAMPLING)
        other = differ(second, first, human, clusters=cluster.tolist(), resampling=RESAMPLING)
        assert one.difference.value == pytest.approx(-other.difference.value)
        low, high = other.difference.interval
        assert one.difference.interval == pytest.approx((-high, -low))


def test_only_what_both_have_a_score_of_counts_and_undecided_pairs_do_not():
    first, second = np.array([1.0, -1, NAN, 0, 1]), np.array([-1.0, -1, 1, 1, NAN])
    human = np.array([1.0, 0, 1, 2, 1])
    found = accuracy_difference(first, second, human, clusters=[0, 1, 2, 3, 4], resampling=RESAMPLING)
    # The first pair: right against wrong; the fourth: a tie against right.
    assert (found.difference.n, found.first, found.second) == (2, 0.75, 0.5)
    assert found.difference.value == pytest.approx(0.25)


def test_the_difference_of_rank_correlations_is_that_of_the_textbook_figures():
    first, second, human, cluster = clustered()
    found = rank_difference(first, second, human, clusters=cluster.tolist(), resampling=RESAMPLING)
    expected = [stats.spearmanr(one, human).statistic for one in (first, second)]
    assert (found.first, found.second) == (pytest.approx(expected[0]), pytest.approx(expected[1]))
    assert found.difference.value == pytest.approx(expected[0] - expected[1])
    assert found.could_be_chance is False


def test_few_clusters_have_a_wider_interval_and_fewer_than_five_none():
    first, second, _, cluster = clustered(groups=6)
    plain, few = (
        mean_difference(first, second, clusters=cluster.tolist(), resampling=RESAMPLING, few=few)
        for few in (False, True)
    )
    assert np.ptp(few.difference.interval) > np.ptp(plain.difference.interval)
    four = mean_difference(first, second, clusters=(cluster % 4).tolist(), resampling=RESAMPLING, few=True)
    assert (four.difference.interval, four.difference.reason, four.could_be_chance) == (
        None,
        "few_clusters",
        None,
    )


def test_without_anything_shared_there_is_a_reason_and_no_figure():
    empty = np.array([NAN, NAN])
    found = mean_difference(empty, np.array([1.0, 2.0]), clusters=[0, 1], resampling=RESAMPLING)
    assert (found.first, found.difference.value, found.difference.reason) == (None, None, "nothing_shared")
    flat = rank_difference(
        np.zeros(3), np.arange(3.0), np.arange(3.0), clusters=[0, 1, 2], resampling=RESAMPLING
    )
    assert (flat.difference.value, flat.difference.reason) == (None, "constant_scores")
