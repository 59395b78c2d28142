"""Who wins a pair, what a tie is worth, and what does not count."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analytics.statistics.judges.accuracy import pairwise_accuracy


def test_human_ties_do_not_count_and_metric_ties_count_half():
    # Right, wrong, right, no difference; the fifth pair has no preference and the sixth no score.
    found = pairwise_accuracy([0.2, 0.1, -3.0, 0.0, 0.9, np.nan], [1, -1, -2, 1, 0, 1])
    assert found.accuracy.value == pytest.approx(2.5 / 4)
    assert (found.accuracy.n, found.human_ties, found.metric_ties) == (4, 1, 1)


def test_over_all_pairs_of_rated_items_it_is_somers_d_moved_to_the_unit_interval():
    rng = np.random.default_rng(0)
    humans, scores = rng.integers(0, 5, 30).astype(float), rng.integers(0, 7, 30).astype(float)
    first, second = np.triu_indices(30, k=1)
    found = pairwise_accuracy(scores[first] - scores[second], humans[first] - humans[second])
    assert found.accuracy.value == pytest.approx((1 + stats.somersd(humans, scores).statistic) / 2)


def test_a_scorer_that_never_decides_is_right_half_the_time():
    assert pairwise_accuracy([0.0] * 10, [1, -1] * 5).accuracy.value == 0.5


def test_without_a_decided_pair_there_is_no_accuracy():
    found = pairwise_accuracy([0.1, np.nan], [0, 1])
    assert (found.accuracy.value, found.accuracy.reason) == (None, "no_decided_pairs")
