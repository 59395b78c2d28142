"""Calibration by brute force over the votes, and what must leave it alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special
from scipy.stats import binomtest

from analytics.statistics.bootstrap import Resampling
from analytics.statistics.judges.calibration import calibration, recalibrated_logits, vote_entropy
from analytics.statistics.judges.logistic_regression import logistic_fit

RNG = np.random.default_rng(11)
N = 400
LOGITS = RNG.normal(size=N) * 1.5
VOTES = RNG.integers(1, 5, size=N)
FIRST = RNG.binomial(VOTES, special.expit(LOGITS)).astype(float)
SECOND = VOTES - FIRST
QUICK = Resampling(replicates=30)


def found(logits=LOGITS, first=FIRST, second=SECOND, **more):
    return calibration(logits, first, second, resampling=QUICK, **more)


def test_cross_entropy_and_brier_are_those_of_the_votes_whichever_side_is_first():
    p, share = special.expit(LOGITS), FIRST / VOTES
    result = found()
    entropy = -(share * np.log(p) + (1 - share) * np.log(1 - p))
    assert result.cross_entropy.value == pytest.approx(entropy.mean())
    assert result.brier.value == pytest.approx(((p - share) ** 2).mean())
    assert result.n == N


def test_the_error_is_the_mean_distance_of_bins_of_equal_counts():
    p, share = special.expit(np.abs(LOGITS)), np.where(LOGITS > 0, FIRST, SECOND) / VOTES
    bins = np.array_split(np.argsort(p), 8)
    by_hand = sum(len(one) / N * abs(p[one].mean() - share[one].mean()) for one in bins)
    result = found(bins=8)
    assert result.ece == pytest.approx(by_hand)
    assert [one.n for one in result.bins] == [50] * 8
    assert result.bins[0].predicted == pytest.approx(p[bins[0]].mean())


def test_bands_are_wilson_intervals():
    share = [1.0] * 8 + [0.0] * 2
    (only,) = calibration([1.0] * 10, share, 1 - np.array(share), bins=1, resampling=QUICK).bins
    expected = binomtest(8, 10).proportion_ci(method="wilson")
    assert (only.low, only.high) == (pytest.approx(expected.low), pytest.approx(expected.high))


def test_exchanging_sides_changes_nothing():
    swapped = RNG.random(N) < 0.5
    sign = np.where(swapped, -1, 1)
    other = found(LOGITS * sign, np.where(swapped, SECOND, FIRST), np.where(swapped, FIRST, SECOND))
    assert other.ece == pytest.approx(found().ece)
    assert other.cross_entropy.interval == pytest.approx(found().cross_entropy.interval)


def test_a_calibrated_scorer_has_the_error_of_chance_and_a_boastful_one_more():
    assert found().ece == pytest.approx(found().ece_by_chance, abs=0.02)
    assert found(LOGITS * 4).ece > 3 * found(LOGITS * 4).ece_by_chance


def test_platt_takes_boasting_back():
    clusters = np.arange(N) // 4
    again = recalibrated_logits(LOGITS * 4, FIRST, SECOND, clusters=clusters)
    assert found(again).ece < found(LOGITS * 4).ece / 2
    assert np.sign(again).tolist() == np.sign(LOGITS).tolist()


def test_platt_learns_from_shares_of_other_clusters():
    leads = np.array([1.0, 2, -1, np.nan, 3, 0.5])
    first, second = np.array([2.0, 1, 1, 1, 0, 0]), np.array([1.0, 0, 2, 1, 1, 0])
    found = recalibrated_logits(leads, first, second, clusters=np.array([0, 0, 1, 1, 1, 1]))
    learnt = logistic_fit(np.array([[-1.0], [3.0]]), np.array([1 / 3, 0.0]), intercept=False)
    assert found[:2] == pytest.approx(learnt.coefficients[0] * leads[:2])
    assert np.isnan(found[[3, 5]]).all()
    assert recalibrated_logits(leads, first, second, clusters=np.zeros(6, dtype=int)) is None
    assert recalibrated_logits(np.full(2, np.nan), np.ones(2), np.ones(2), clusters=np.arange(2)) is None


def test_certainty_costs_what_it_should_and_never_infinitely_much():
    sure = calibration([1e4, -1e4], [0, 0], [1, 1], resampling=QUICK)
    assert sure.cross_entropy.value == pytest.approx(5000)
    assert sure.brier.value == pytest.approx(0.5)


def test_a_scorer_without_a_preference_is_right_half_the_time():
    even = calibration([0.0] * 4, [1, 1, 0, 2], [0, 0, 1, 0], resampling=QUICK)
    assert even.cross_entropy.value == pytest.approx(np.log(2))
    assert even.brier.value == pytest.approx(0.25)
    assert (even.ece, even.bins[0].observed) == (0.0, 0.5)


def test_pairs_without_score_or_votes_do_not_count_and_none_at_all_has_a_reason():
    result = calibration([1, np.nan, 2, np.inf], [1, 1, 0, 1], [0, 0, 0, 0], resampling=QUICK)
    assert (result.n, result.cross_entropy.reason) == (1, "one_cluster")
    nothing = calibration([np.nan], [1], [0])
    assert (nothing.ece, nothing.bins, nothing.brier.reason) == (None, (), "no_decided_pairs")


def test_the_entropy_of_votes_is_what_knowing_their_shares_costs():
    shares = FIRST / VOTES
    by_hand = special.entr(shares) + special.entr(1 - shares)
    assert vote_entropy(FIRST, SECOND) == pytest.approx(by_hand.mean())
    assert vote_entropy(np.zeros(2), np.zeros(2)) is None
