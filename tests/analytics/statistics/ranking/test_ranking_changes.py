from __future__ import annotations

import pytest
from scipy.stats import kendalltau

from analytics.statistics.ranking.comparisons import count_comparisons
from analytics.statistics.ranking.ranking import WALD, Ranking, RankingSettings, rank_changes, rank_systems


def ranking(wins: dict[tuple[int, int], int], systems: str = "abcd") -> Ranking:
    first, second = zip(*wins, strict=True)
    counted = count_comparisons(systems, first, second, [0] * len(wins), votes=list(wins.values()))
    return rank_systems(counted, RankingSettings(intervals=WALD))


# Each system beats the next two times in three.
PLAIN = {(0, 1): 4, (1, 0): 2, (1, 2): 4, (2, 1): 2, (2, 3): 4, (3, 2): 2}


def test_the_same_votes_change_nothing():
    found = rank_changes(ranking(PLAIN), ranking(PLAIN))
    assert (found.tau, found.moved) == (1.0, ())


def test_systems_that_change_places_are_told():
    found = rank_changes(ranking(PLAIN), ranking({**PLAIN, (3, 2): 9}))
    ranks = {one.system: one.ranks for one in found.systems}
    before, after = zip(*ranks.values(), strict=True)
    assert {one.system for one in found.moved} == {
        name for name, (one, other) in ranks.items() if one != other
    }
    assert found.moved
    assert found.tau == pytest.approx(kendalltau(before, after).statistic)


def test_systems_without_strengths_are_not_compared():
    never_lost = {(0, 1): 3, (1, 2): 2, (2, 1): 1}
    found = rank_changes(ranking(PLAIN), ranking(never_lost, "abc"))
    assert (found.systems, found.tau) == ((), None)


def test_without_order_there_is_no_tau():
    even = {(0, 1): 2, (1, 0): 2}
    found = rank_changes(ranking(even, "ab"), ranking(even, "ab"))
    assert [one.ranks for one in found.systems] == [(1, 1), (1, 1)]
    assert found.tau is None
