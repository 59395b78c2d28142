"""When a pair needs no more votes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import beta

from annotation.protocols import definition_of_preset, parse
from annotation.rating.rules import stopping
from annotation.rating.rules.exclusions import TaskPlaces
from annotation.rating.rules.stopping import Stopping, Votes, majority_certainty, places_to_add

RULE = Stopping("preference", most=9)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [(0, 0, 0.5), (2, 0, 0.875), (3, 0, 0.9375), (4, 0, 0.96875), (3, 1, 0.8125), (1, 5, 0.9375)],
)
def test_the_posterior_of_the_majority(first, second, expected):
    assert majority_certainty(first, second) == pytest.approx(expected, abs=1e-12)


def test_it_is_the_larger_side_of_the_beta_distribution():
    for first in range(0, 25, 3):
        for second in range(0, 25, 4):
            for neither in range(5):
                a, b = 1 + first + neither / 2, 1 + second + neither / 2
                expected = max(beta.sf(0.5, a, b), beta.cdf(0.5, a, b))
                assert majority_certainty(first, second, neither) == pytest.approx(expected, abs=1e-12)


def test_many_votes_neither_overflow_nor_pass_one():
    assert majority_certainty(1000, 0) == 1.0
    assert majority_certainty(520, 480) == pytest.approx(float(beta.sf(0.5, 521, 481)), abs=1e-9)


def test_votes_for_neither_make_no_majority_and_weaken_one():
    assert majority_certainty(0, 0, 7) == 0.5
    assert majority_certainty(3, 0, 2) < majority_certainty(3, 0)


def test_a_threshold_that_votes_reach_exactly_is_reached():
    assert Stopping("q", most=9, threshold=0.9375).is_met(Votes(5, 1))
    assert not Stopping("q", most=9, threshold=0.938).is_met(Votes(5, 1))


@pytest.mark.parametrize(
    ("votes", "places", "added", "move"),
    [
        (Votes(2, 1), TaskPlaces(3, 0, 3), 0, +1),  # full and undecided
        (Votes(3, 0), TaskPlaces(3, 0, 3), 0, 0),  # decided
        (Votes(5, 4), TaskPlaces(9, 0, 9), 6, 0),  # the most there may be
        (Votes(2, 0), TaskPlaces(2, 0, 3), 0, 0),  # the first votes are not in
        (Votes(2, 1), TaskPlaces(3, 0, 4), 1, 0),  # one more is asked for already
        (Votes(3, 0), TaskPlaces(3, 0, 4), 1, -1),  # a vote was changed: not needed any more
        (Votes(3, 0), TaskPlaces(3, 1, 4), 1, 0),  # but somebody is at it
        (Votes(2, 1), TaskPlaces(3, 0, 6), 3, -2),  # votes were excluded: one at a time
        (Votes(1, 1), TaskPlaces(2, 0, 6), 3, -3),  # so many that the first are missing
        (Votes(3, 0), TaskPlaces(3, 0, 5), 1, -1),  # of two, the place that others gave the task stays
        (Votes(8, 7), TaskPlaces(15, 0, 15), 0, 0),  # imported, more than the rule would ask for
    ],
)
def test_places_follow_the_votes_one_at_a_time(votes, places, added, move):
    assert places_to_add(RULE, votes, places, added=added, overlap=3) == move


EASY = Stopping("q", most=9, threshold=0.8)


@pytest.mark.parametrize(
    ("rule", "votes", "places", "added", "move"),
    [
        # Without a rule, places that were added go.
        (None, Votes(), TaskPlaces(3, 0, 4), 1, -1),
        (None, Votes(), TaskPlaces(3, 0, 3), 0, 0),
        (None, Votes(), TaskPlaces(2, 0, 3), 1, -1),
        # A pair that was given fewer places than the study gives gets as many, whatever its votes.
        *((EASY, votes, TaskPlaces(2, 0, 2), 0, 1) for votes in (Votes(2, 0), Votes(1, 1))),
        *((EASY, votes, TaskPlaces(2, 0, 3), 1, 0) for votes in (Votes(2, 0), Votes(1, 1))),
    ],
)
def test_the_first_places_are_those_of_the_study_and_no_others(rule, votes, places, added, move):
    assert places_to_add(rule, votes, places, added=added, overlap=3) == move


def test_votes_are_limited_to_the_first_only_once_a_rule_has_asked_for_more():
    on, off = {"question": "q", "most": 9, "threshold": 0.9}, {"question": "", "most": 9, "threshold": 0.9}
    for unused in ({}, {"stopping": on}, {"stopping": off}):
        assert stopping.first_votes(unused, overlap=3) is None
    earlier = {stopping.LAST_RULE_KEY: {"question": "earlier", "most": 5, "threshold": 0.8}}
    assert stopping.first_votes({"stopping": off, **earlier}, overlap=3) == 3
    assert stopping.adaptive_rule({"stopping": off, **earlier}) == Stopping("earlier", most=5, threshold=0.8)
    assert stopping.adaptive_rule({"stopping": on, **earlier}) == Stopping("q", most=9)


def faults(*, overlap: int = 3, **wanted) -> dict[str, str]:
    whole = {"question": "preference", "threshold": 0.9, "most": 9, **wanted}
    found = stopping.validate_stopping(whole, overlap=overlap, questions=("preference",))
    return {problem.field: problem.message for problem in found}


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"question": "loudness"}, "question"),
        ({"threshold": 0.5}, "threshold"),
        ({"threshold": 1}, "threshold"),
        ({"threshold": math.nan}, "threshold"),
        ({"threshold": "0.9"}, "threshold"),
        ({"threshold": True}, "threshold"),
        ({"most": 3}, "most"),
        ({"most": None}, "most"),
        ({"most": 4.5}, "most"),
        ({"most": 1001}, "most"),
        ({"question": "", "most": 0}, "most"),
        ({"least": 2}, "least"),
    ],
)
def test_every_fault_names_its_field(wanted, field):
    assert not faults() | faults(question="", most=None)
    assert list(faults(**wanted)) == [field]


def test_a_threshold_that_no_vote_can_reach_says_how_many_can():
    assert "give 4 or more" in faults(overlap=1, most=3, threshold=0.95)["most"]
    assert not faults(overlap=1, most=4, threshold=0.95)


def test_only_questions_of_preference_decide():
    assert stopping.eligible_questions(parse(definition_of_preset("orca"))) == ()
    assert stopping.eligible_questions(parse(definition_of_preset("abx"))) == ()
    assert "alignment" in stopping.eligible_questions(parse(definition_of_preset("cmi-pref")))


def test_it_is_as_right_as_nine_votes_by_little_more_than_five():
    """The published simulation: preferences from Beta(.816, .816), stop at .9, at most 9 votes: .888 right at 5.29."""
    rng = np.random.default_rng(20)
    preferred = rng.beta(0.816, 0.816, size=4000)
    said = rng.random((len(preferred), RULE.most)) < preferred[:, None]
    right, n_votes = [], []
    for q, votes in zip(preferred, said, strict=True):
        for n in range(1, RULE.most + 1):
            first = int(votes[:n].sum())
            if RULE.is_met(Votes(first, n - first)):
                break
        right.append((first > n - first) == (q > 0.5))
        n_votes.append(n)
    assert np.mean(right) == pytest.approx(0.888, abs=0.012)
    assert np.mean(n_votes) == pytest.approx(5.29, abs=0.12)
