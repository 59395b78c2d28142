from __future__ import annotations

import math

import pytest

from analytics.data.value_counts import PairVotes, SystemRatings
from analytics.overview.figures import SystemMean, SystemWins, system_means, system_wins

# Three wins to one are log-odds of log 3, whatever the ties, and half of that on either side of the mean.
HALF_LOG_3, MINUS_HALF_LOG_3 = pytest.approx(math.log(3) / 2), pytest.approx(-math.log(3) / 2)


def test_means_come_with_n_and_spread_the_best_first():
    rows = [SystemRatings("low", 1, 2.0, 4.0), SystemRatings("high", 4, 18.0, 82.0)]
    # high: 4, 5, 4, 5 has the sample variance 1/3.
    assert system_means(rows) == [
        SystemMean("high", 4, 4.5, pytest.approx((1 / 3) ** 0.5)),
        SystemMean("low", 1, 2.0, None),
    ]


def test_equal_ratings_have_no_spread_in_spite_of_rounding():
    (one,) = system_means([SystemRatings("s", 3, 3 * 0.1, 3 * 0.1 * 0.1 - 1e-18)])
    assert one.sd == pytest.approx(0.0, abs=1e-9)


def test_a_win_for_one_is_a_loss_for_the_other_and_a_tie_half_of_each():
    found = system_wins([PairVotes("a", "b", first=3, second=1, tie=2, both_bad=4)])
    assert found == [
        SystemWins(
            "a",
            n=10,
            wins=3,
            losses=1,
            ties=2,
            both_bad=4,
            win_rate=pytest.approx(4 / 6),
            strength=HALF_LOG_3,
        ),
        SystemWins(
            "b",
            n=10,
            wins=1,
            losses=3,
            ties=2,
            both_bad=4,
            win_rate=pytest.approx(2 / 6),
            strength=MINUS_HALF_LOG_3,
        ),
    ]


def test_both_listed_orders_of_a_pair_add_up():
    found = system_wins([PairVotes("a", "b", 3, 1, 0, 0), PairVotes("b", "a", 5, 1, 0, 0)])
    assert [(one.system, one.wins, one.losses) for one in found] == [("b", 6, 4), ("a", 4, 6)]


def test_a_system_is_not_compared_with_itself():
    assert system_wins([PairVotes("a", "a", 3, 1, 0, 0)]) == []


def test_votes_for_neither_alone_give_no_rate():
    assert [one.win_rate for one in system_wins([PairVotes("a", "b", 0, 0, 0, 2)])] == [None, None]


def test_a_strength_does_not_depend_on_whom_a_system_met():
    """The worst system against the best has the lowest rate; who beat only the worst is not the best for that."""
    rows = [PairVotes("a", "b", 6, 4, 0, 0), PairVotes("b", "c", 9, 1, 0, 0)]
    found = {one.system: one for one in system_wins(rows)}
    assert found["b"].win_rate > found["a"].win_rate
    assert found["a"].strength > found["b"].strength > found["c"].strength


def test_systems_that_cannot_be_compared_have_no_strengths():
    apart = [PairVotes("a", "b", 3, 1, 0, 0), PairVotes("c", "d", 3, 1, 0, 0)]
    never_lost = [PairVotes("a", "b", 3, 0, 0, 0)]
    assert [one.strength for rows in (apart, never_lost) for one in system_wins(rows)] == [None] * 6
