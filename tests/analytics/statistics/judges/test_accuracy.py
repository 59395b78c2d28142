"""Accuracy against human answers: pairs, AUC, composition scores, absolute and variance error."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats
from scipy.stats import norm

from analytics.statistics.arrays import group_variances
from analytics.statistics.bootstrap import Resampling
from analytics.statistics.judges.accuracy import (
    absolute_error,
    auc,
    composition_scores,
    pairwise_accuracy,
    variance_error,
)


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


BOTH = [[0.9, 0.1], [0.2, 0.8]]
TEXT_ONLY = [
    [0.4, 0.3],
    [0.6, 0.7],
]  # each sound its own text; the first text scores higher with the second sound
AUDIO_ONLY = [[0.4, 0.6], [0.3, 0.7]]
NEITHER = [[0.1, 0.9], [0.8, 0.2]]


def values(*items):
    found = composition_scores(np.array(items, dtype=float))
    return found.text.value, found.audio.value, found.group.value


def test_each_score_by_hand():
    assert values(BOTH, TEXT_ONLY, AUDIO_ONLY, NEITHER) == (0.5, 0.5, 0.25)


def test_who_cannot_tell_two_apart_has_not_passed():
    assert values([[0.5, 0.5], [0.5, 0.5]]) == (0.0, 0.0, 0.0)
    assert values([[0.5, 0.5], [0.1, 0.6]]) == (0.0, 1.0, 0.0)


@pytest.mark.parametrize(("k", "chance"), [(2, (1 / 4, 1 / 4, 1 / 6)), (3, (1 / 27, 1 / 27, None))])
def test_guessing_passes_as_often_as_theory_says(k, chance):
    if k == 2:
        orders = np.array(list(itertools.permutations(range(4))), dtype=float).reshape(-1, 2, 2)
    else:
        orders = np.random.default_rng(0).random((40_000, 3, 3))
    found = composition_scores(orders, resampling=Resampling(replicates=1))
    tolerance = 1e-12 if k == 2 else 0.003
    assert found.text.value == pytest.approx(chance[0], abs=tolerance)
    assert found.audio.value == pytest.approx(chance[1], abs=tolerance)
    if chance[2] is not None:
        assert found.group.value == pytest.approx(chance[2])


def test_an_item_with_a_score_missing_is_left_out():
    found = composition_scores(np.array([BOTH, [[np.nan, 0.1], [0.2, 0.8]]]))
    assert (found.text.value, found.text.n) == (1.0, 1)
    none = composition_scores(np.full((1, 2, 2), np.nan))
    assert (none.group.value, none.group.reason) == (None, "no_items")


QUICK = Resampling(replicates=30)


def test_the_error_is_the_mean_distance_and_the_median_its_best_constant():
    scores, humans = [0.0, 0.5, 1, np.nan], [0.25, 0.25, 1, 1]
    found = absolute_error(scores, humans, resampling=QUICK)
    assert found.error.value == pytest.approx((0.25 + 0.25 + 0) / 3)
    assert found.constant == pytest.approx(0.25)
    best = min(np.abs(np.array([0.25, 0.25, 1]) - at).mean() for at in np.linspace(0, 1, 1001))
    assert found.constant == pytest.approx(best)
    assert found.error.interval is not None
    assert absolute_error([np.nan], [1.0]).error.reason == "no_items"


def test_variances_are_unbiased_and_need_two_ratings():
    unit, value = np.array([0, 0, 1, 2, 2, 2]), np.array([0, 1, 0.5, 0, 0.5, 1])
    found = group_variances(unit, value, size=4, ddof=1)
    assert found[[0, 2]] == pytest.approx([np.var([0, 1], ddof=1), np.var([0, 0.5, 1], ddof=1)])
    assert np.isnan(found[[1, 3]]).all()


def test_variances_count_from_three_ratings_on():
    unit = np.repeat([0, 1, 2], [2, 3, 4])
    value = np.array([0, 1, 0, 0.5, 1, 0, 0, 1, 1])
    found = variance_error([0.1, 0.2, np.nan], unit, value, resampling=QUICK)
    assert found.error.value == pytest.approx(abs(0.2 - np.var([0, 0.5, 1], ddof=1)))
    assert found.error.n == 1
    found = variance_error([0.1, 0.2, 0.3], unit, value, resampling=QUICK)
    own = [np.var([0, 0.5, 1], ddof=1), np.var([0, 0, 1, 1], ddof=1)]
    assert found.error.value == pytest.approx(np.mean([abs(0.2 - own[0]), abs(0.3 - own[1])]))
    assert found.constant == pytest.approx(abs(own[0] - own[1]) / 2)
    assert variance_error([np.nan] * 3, unit, value).floor is None


def test_the_floor_is_what_chance_leaves_to_one_who_knows():
    rng = np.random.default_rng(2)
    # Everybody's chances are the same, so that many units show the truth.
    points, chance = np.array([0, 0.25, 0.5, 0.75, 1]), [0.1, 0.2, 0.4, 0.2, 0.1]
    unit, value = np.repeat(np.arange(3000), 50), rng.choice(points, size=150_000, p=chance)
    true = np.dot(chance, points**2) - np.dot(chance, points) ** 2
    found = variance_error(np.full(3000, true), unit, value, resampling=QUICK)
    assert found.floor == pytest.approx(found.error.value, rel=0.05)
    assert variance_error(np.full(3000, true), unit, value, resampling=QUICK).floor == found.floor


@pytest.mark.parametrize(("spread", "noise"), [(1.5, 0.5), (4.0, 0.4)])
def test_the_floor_is_near_what_it_would_be_if_the_truth_were_known(spread, noise):
    rng = np.random.default_rng(3)
    points, cuts = np.array([0, 0.25, 0.5, 0.75, 1]), np.array([-np.inf, -1.5, -0.5, 0.5, 1.5, np.inf])
    middle, width = rng.normal(size=1200) * spread, noise * np.exp(rng.normal(size=1200) / 2)
    chance = np.diff(norm.cdf((cuts - middle[:, None]) / width[:, None]), axis=1)
    drawn = rng.multinomial(3, chance / chance.sum(axis=1, keepdims=True))
    true = chance @ points**2 - (chance @ points) ** 2
    value = np.concatenate([np.repeat(points, row) for row in drawn])
    found = variance_error(true, np.repeat(np.arange(1200), 3), value, resampling=Resampling(replicates=2))
    assert found.floor == pytest.approx(found.error.value, rel=0.12)


def test_people_who_never_differ_leave_nothing_to_chance():
    found = variance_error([0.0, 0.2], np.repeat([0, 1], 3), np.repeat([0.25, 1.0], 3), resampling=QUICK)
    assert (found.error.value, found.floor) == (pytest.approx(0.1), pytest.approx(0))
