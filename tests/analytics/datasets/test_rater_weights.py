from __future__ import annotations

from itertools import combinations

import pytest

from analytics.datasets.rules import Vote, rater_weights


def votes(rows: list[tuple[int, str, int]]) -> list[Vote]:
    return [Vote(*row) for row in rows]


CAREFUL_AND_NOT = [
    (task, rater, choice)
    for task in range(20)
    for rater, choice in (("x", 1 + task % 2), ("y", 1 + task % 2), ("z", 1 + task // 2 % 2))
]


def by_pairs(rows: list[tuple[int, str, int]]) -> dict[str, float]:
    """The formula of the module's docstring, pair by pair."""
    equal: dict[str, list[bool]] = {}
    for one, other in combinations(rows, 2):
        if one[0] == other[0] and one[1] and other[1]:
            for rater in (one[1], other[1]):
                equal.setdefault(rater, []).append(one[2] == other[2])
    named = [row for row in rows if row[1]]
    shares = [sum(row[2] == choice for row in named) / len(named) for choice in {row[2] for row in named}]
    chance = sum(share**2 for share in shares)
    overall = sum(map(sum, equal.values())) / sum(map(len, equal.values()))
    raw = {
        rater: max(0.1, ((sum(own) + 10 * overall) / (len(own) + 10) - chance) / (1 - chance))
        for rater, own in equal.items()
    }
    given = {rater: sum(row[1] == rater for row in rows) for rater in raw}
    mean = sum(raw[rater] * given[rater] for rater in raw) / sum(given.values())
    return {rater: weight / mean for rater, weight in raw.items()}


def test_whoever_agrees_with_the_others_weighs_more():
    found = rater_weights(votes(CAREFUL_AND_NOT))
    assert found == pytest.approx(by_pairs(CAREFUL_AND_NOT))
    assert found["x"] == found["y"] > 1 > found["z"]


def test_the_mean_weight_of_a_vote_is_one():
    found = rater_weights(votes(CAREFUL_AND_NOT))
    assert sum(found[rater] for _, rater, _ in CAREFUL_AND_NOT) / len(CAREFUL_AND_NOT) == pytest.approx(1)


def test_nobody_is_weighed_where_there_is_nothing_to_tell_by():
    assert rater_weights(votes([(0, "", 1), (0, "", 2)])) == {}
    assert rater_weights(votes([(0, "x", 1), (1, "y", 2)])) == {}  # no task in common
    assert rater_weights(votes([(0, "x", 1), (0, "y", 1)])) == {}  # always the same answer
