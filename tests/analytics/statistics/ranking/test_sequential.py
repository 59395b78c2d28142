"""Comparing while the votes come in: right whenever it is looked at."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betaln
from scipy.stats import binomtest

from analytics.statistics.intervals import wilson_interval
from analytics.statistics.planning.majority import wald_lead
from analytics.statistics.ranking.sequential import anytime_interval, log_e_values, sequential_comparison

VOTES = st.lists(st.booleans(), max_size=60)


@given(VOTES)
def test_the_evidence_is_the_mixture_of_likelihoods_over_all_win_rates(wins):
    found = sequential_comparison(wins)
    n, won = len(wins), sum(wins)
    expected = math.exp(betaln(1 + won, 1 + n - won) + n * math.log(2))
    assert math.exp(found.log_e_value) == pytest.approx(expected, rel=1e-9)
    assert (found.votes, found.wins) == (n, won)


def test_it_is_a_fair_bet_when_neither_system_is_better():
    """Over all sequences of n votes, each as likely as any other, the evidence is worth what was put in."""
    for n in (1, 2, 7, 12):
        sequences = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        ends = [math.exp(log_e_values(np.cumsum(votes))[-1]) for votes in sequences]
        assert np.mean(ends) == pytest.approx(1, abs=1e-12)


@given(VOTES)
def test_swapping_the_systems_swaps_the_result(wins):
    one, other = sequential_comparison(wins), sequential_comparison([not won for won in wins])
    assert other.decided_at == one.decided_at
    assert {one.direction, other.direction} in ({None}, {"first", "second"})
    if one.interval and other.interval:
        assert other.interval == pytest.approx((1 - one.interval[1], 1 - one.interval[0]), abs=1e-9)


@given(VOTES)
def test_a_decision_stands_whatever_comes_later(wins):
    found = sequential_comparison(wins)
    looked = [sequential_comparison(wins[:n]).decided for n in range(len(wins) + 1)]
    assert found.decided == looked[-1]
    assert looked == sorted(looked)
    assert found.decided_at == (looked.index(True) if True in looked else None)


def test_eight_votes_of_one_mind_decide_and_seven_do_not():
    # 2^n / (n + 1): 16 for seven votes, 28.4 for eight; 20 is needed.
    assert not sequential_comparison([True] * 7).decided
    found = sequential_comparison([True] * 8 + [False] * 8)
    assert (found.decided_at, found.direction, found.votes) == (8, "first", 16)
    assert found.log_e_value < 0
    assert sequential_comparison([False] * 8).direction == "second"


def test_the_interval_ends_where_the_evidence_does():
    for won, n in ((3, 10), (0, 6), (40, 55), (500, 1000)):
        low, high = anytime_interval(won, n, level=0.95)
        for p in {low, high} - {0.0, 1.0}:
            evidence = betaln(1 + won, 1 + n - won) - won * math.log(p) - (n - won) * math.log(1 - p)
            assert evidence == pytest.approx(math.log(20), abs=1e-6)
        assert low <= won / n <= high
        assert (low == 0) == (won == 0)


@given(st.integers(1, 400), st.data())
def test_it_is_decided_now_where_one_half_lies_outside(n, data):
    won = data.draw(st.integers(0, n))
    low, high = anytime_interval(won, n, level=0.95)
    evidence = betaln(1 + won, 1 + n - won) + n * math.log(2)
    if abs(evidence - math.log(20)) > 1e-6:
        assert (evidence >= math.log(20)) == (not low < 0.5 < high)


@pytest.mark.parametrize(("won", "n"), [(0, 1), (3, 10), (81, 263), (15, 15)])
def test_the_fixed_interval_is_wilsons(won, n):
    published = binomtest(won, n).proportion_ci(0.95, method="wilson")
    assert wilson_interval(won, n, level=0.95) == pytest.approx((published.low, published.high), abs=1e-12)


def test_without_votes_nothing_is_known():
    found = sequential_comparison([])
    assert (found.votes, found.log_e_value, found.decided, found.share) == (0, 0.0, False, None)
    assert (found.interval, found.fixed_interval, found.direction) == (None, None, None)


def test_overwhelming_evidence_is_no_infinity():
    found = sequential_comparison(np.ones(5000, dtype=bool))
    assert math.isfinite(found.log_e_value)
    assert found.interval is not None
    assert 0.99 < found.interval[0] < 1


@pytest.mark.parametrize("level", [0, 1, 1.5, math.nan])
def test_a_level_is_between_none_and_all(level):
    with pytest.raises(ValueError, match="level"):
        sequential_comparison([True], level=level)


def test_looking_after_every_vote_alarms_falsely_no_more_often_than_it_says_and_the_fixed_test_does():
    """2,000 pairs of equal systems, 1,000 votes each, looked at after each: at most 5 % may ever be decided."""
    rng = np.random.default_rng(7)
    won = np.cumsum(rng.random((2000, 1000)) < 0.5, axis=1)
    ever = np.mean([np.any(log_e_values(row) >= math.log(20)) for row in won])
    n = np.arange(1, 1001)
    z = NormalDist().inv_cdf(0.975)
    fixed = np.mean(np.any(np.abs(won - n / 2) > z * np.sqrt(n) / 2, axis=1))
    assert ever <= 0.05
    assert fixed > 0.3


def test_it_finds_a_difference_that_is_there_soon_enough():
    rng = np.random.default_rng(8)
    decided = [sequential_comparison(rng.random(600) < 0.65).decided_at for _ in range(200)]
    assert all(decided)
    assert np.median([at for at in decided if at]) < 150


# ── Wald's test ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("p", "lead"), [(0.6, 8), (0.65, 5), (0.7, 4), (0.75, 3), (0.8, 3), (0.9, 2)])
def test_published_leads_to_stop_at(p, lead):
    found = wald_lead(p)
    assert found.lead == lead
    odds = p / (1 - p)
    assert found.expected_votes == pytest.approx(lead * (1 - 2 / (1 + odds**lead)) / (2 * p - 1))


def test_votes_until_the_lead_take_as_long_as_they_are_expected_to():
    rng = np.random.default_rng(3)
    steps = np.where(rng.random((4000, 200)) < 0.7, 1, -1).cumsum(axis=1)
    reached = np.argmax(np.abs(steps) >= wald_lead(0.7).lead, axis=1) + 1
    assert reached.mean() == pytest.approx(wald_lead(0.7).expected_votes, rel=0.03)


def test_a_bound_that_is_a_whole_number_of_votes_is_reached_by_it():
    assert wald_lead(0.75, false_alarm=0.1, miss=0.1).lead == 2  # the odds are 3, the bound is 9


@pytest.mark.parametrize(
    ("p", "errors"),
    [(0.5, {}), (1.0, {}), (math.nan, {}), (0.7, {"miss": 0}), (0.7, {"miss": 0.6, "false_alarm": 0.4})],
)
def test_what_wald_cannot_test_is_refused(p, errors):
    with pytest.raises(ValueError, match="chance"):
        wald_lead(p, **errors)
