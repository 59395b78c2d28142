"""Shares and margins, against numbers worked out by hand and by brute force."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from analytics.datasets.formats.contract import AnswerRow
from analytics.datasets.formats.preferences import margin, sum_pair_votes
from tests.analytics.datasets.formats.judged import compared, context


@pytest.mark.parametrize(
    ("votes", "ties", "p"),
    [
        ("a", "half", 1.5 / 2),  # one vote is no certainty
        ("aab", "half", 2.5 / 4),
        ("aat", "half", 3 / 4),
        ("aat", "drop", 2.5 / 3),
        ("aax", "half", 3 / 4),  # both bad says as little of the order as a tie
        ("tt", "drop", 0.5),
    ],
)
def test_the_share_is_smoothed_by_half_a_vote_for_each_side(votes, ties, p):
    assert sum_pair_votes(compared(votes), "alignment", context(), ties=ties).p == pytest.approx(p, abs=1e-15)


@pytest.mark.parametrize("ties", ["half", "drop"])
def test_it_is_the_share_of_votes_however_they_fall(ties):
    for letters in product("abtx", repeat=4):
        votes = "".join(letters)
        a, b, undecided = votes.count("a"), votes.count("b"), votes.count("t") + votes.count("x")
        shared = Fraction(undecided, 2) if ties == "half" else Fraction(0)
        half = Fraction(1, 2)
        found = sum_pair_votes(compared(votes), "alignment", context(), ties=ties)
        assert found.p == pytest.approx(float((a + shared + half) / (a + b + 2 * shared + 2 * half)))
        assert (found.n_first, found.n_second, found.n_tie, found.n_both_bad) == tuple(
            map(votes.count, "abtx")
        )
        assert found.n_votes == (4 if ties == "half" else a + b)
        assert found.decided == (a != b)


def test_log_odds_are_the_difference_of_rewards_that_gives_the_share():
    p = sum_pair_votes(compared("aaab"), "alignment", context(), ties="half").p
    assert 1 / (1 + math.exp(-margin(p, "log-odds"))) == pytest.approx(p)
    assert margin(1 - p, "log-odds") == pytest.approx(-margin(p, "log-odds"))
    assert margin(0.75, "votes") == 0.5


def test_raters_weigh_what_they_are_worth():
    made = context(weights="agreement")
    made.weights = {"alignment": {"r0": 2.0, "r1": 0.5}}
    found = sum_pair_votes(compared("ab"), "alignment", made, ties="half")
    assert (found.first, found.second, found.p) == (2.0, 0.5, 2.5 / 3.5)


def test_confidence_weighs_by_the_mean_one_where_that_is_asked_for():
    said = compared("ab").judgments
    sure = replace(said[0], answers=(AnswerRow("alignment", choice=1, confidence=5),))
    judged = replace(compared("ab"), judgments=(sure, said[1]))
    made = context(confidence="weight")
    made.confidence = {"alignment": 2.5}
    found = sum_pair_votes(judged, "alignment", made, ties="half")
    assert (found.first, found.second, found.confidence) == (2.0, 1.0, 5.0)
    made = context(confidence="column")
    made.confidence = {"alignment": 2.5}
    assert sum_pair_votes(judged, "alignment", made, ties="half").first == 1.0
