"""Where checks come and how answers are compared, without a database."""

from __future__ import annotations

from itertools import pairwise

import pytest

from annotation.checks import rules
from annotation.checks.rules import Injection, Key, Outcome
from annotation.rating.rules.answers import CanonicalAnswer


@pytest.mark.parametrize(
    "injection",
    [
        Injection(gold=0.1, trap=0.05, repeat=0.05),
        Injection(gold=0.03, least_between=5, most_between=40),
        Injection(gold=0.2, identical=0.1, repeat=0.2, least_between=0),
        Injection(gold=0.25, least_between=3, most_between=3),
    ],
)
def test_shares_hold_within_a_check_and_the_spacing_always(injection):
    for rater in range(5):
        kinds = [rules.check_at(injection, n, seed=7, rater=rater) for n in range(1000)]
        places = [n for n, kind in enumerate(kinds) if kind]
        between = [b - a - 1 for a, b in pairwise(places)]
        assert injection.least_between <= min(between)
        assert max(between) <= (injection.most_between or 1000)
        for kind in rules.KINDS:
            assert kinds.count(kind) == pytest.approx(1000 * getattr(injection, kind), abs=4)
        assert all(abs(sum(map(bool, kinds[:n])) - n * injection.share) <= 1 for n in range(1000))


def test_two_raters_get_their_checks_at_other_places():
    injection = Injection(gold=0.1)
    places = [
        tuple(rules.check_at(injection, n, seed=7, rater=rater) for n in range(200)) for rater in (1, 2)
    ]
    assert places[0] != places[1]


def rated(value: float, slot: int | None = None) -> CanonicalAnswer:
    return CanonicalAnswer("quality", slot, value=value)


@pytest.mark.parametrize(
    ("answers", "outcome"),
    [
        ([rated(4)], Outcome(True, 1.0)),
        ([rated(2)], Outcome(False, 0.0)),
        ([rated(4, 0), rated(1, 1)], Outcome(False, 0.5)),
        ([], Outcome(False, 0.0)),
    ],
)
def test_a_key_is_met_within_its_tolerance_by_every_candidate(answers, outcome):
    assert rules.outcome_by_keys([Key("quality", value=3.5, tolerance=0.5)], answers) == outcome


def test_repeats_have_a_likeness_and_nobody_fails_them():
    spans = {"quality": 4.0}
    assert rules.outcome_of_repeat([rated(5)], [rated(4)], spans=spans) == Outcome(None, 0.75)
    same = [CanonicalAnswer("better", choice=1)]
    other = [CanonicalAnswer("better", choice=2)]
    assert rules.outcome_of_repeat(same, same, spans={}).score == 1.0
    assert rules.outcome_of_repeat(same, other, spans={}).score == 0.0
