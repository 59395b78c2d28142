"""The area by pairs counted one by one, and by the trapezoids under the curve."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analytics.statistics.bootstrap import Resampling
from analytics.statistics.judges.accuracy import auc


def test_it_counts_pairs_and_half_of_the_ties():
    # 0.9 beats both; 0.4 beats one and ties with the other.
    assert auc([0.9, 0.4, 0.4, 0.1], [True, True, False, False]).value == pytest.approx(3.5 / 4)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_area_under_the_curve_and_the_u_statistic(seed):
    rng = np.random.default_rng(seed)
    classes, scores = rng.random(120) < 0.3, rng.integers(0, 9, 120).astype(float)
    u = stats.mannwhitneyu(scores[classes], scores[~classes]).statistic
    cuts = np.r_[np.inf, np.unique(scores)[::-1]]
    hits = [(scores[classes] >= cut).mean() for cut in cuts]
    alarms = [(scores[~classes] >= cut).mean() for cut in cuts]
    area = auc(scores, classes).value
    assert area == pytest.approx(u / (classes.sum() * (~classes).sum()))
    assert area == pytest.approx(np.trapezoid(hits, alarms))


def test_one_class_has_no_area():
    for classes in ([True, True], [False, False], []):
        found = auc([0.1, 0.2][: len(classes)], classes)
        assert (found.value, found.reason) == (None, "one_class")


def test_resamples_of_one_class_are_counted():
    found = auc([0.1, 0.9, 0.2], [False, True, False], resampling=Resampling(replicates=300))
    # The only positive is not drawn in (2/3)^3 of the resamples, and alone in 1/27.
    assert 70 < found.degenerate < 130
    assert found.interval == (1.0, 1.0)


def test_items_without_a_score_are_left_out():
    assert auc([0.9, np.nan, 0.1], [True, True, False]).n == 2
