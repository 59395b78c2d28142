"""Pairs of votes: the figures of CMI-RewardBench's Tables 6 and 7, and votes compared two by two."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytics.statistics.agreement.alpha import symmetric_alpha
from analytics.statistics.agreement.patterns import patterns_from_long
from analytics.statistics.agreement.percent_agreement import alpha_of_pairs, pair_agreement, same_preference
from analytics.statistics.bootstrap import Resampling

FEW = Resampling(replicates=20)
votes = st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=40)


def as_published(split_by_two: int) -> list[list[bool]]:
    """492 comparisons of 2, 3 or 4 votes with 1,056 votes and 644 pairs of votes: no other numbers give these sums."""
    units = [[True, False]] * split_by_two + [[True, True]] * (428 - split_by_two)
    units += [[True, True, False]] * 36 + [[False] * 3] * 20
    return units + [[True] * 4] * 8


def agreement(units: list[list[bool]]):
    unit = [number for number, sides in enumerate(units) for _ in sides]
    sides = [side for sides in units for side in sides]
    return pair_agreement(unit, sides, clusters=unit, resampling=FEW)


@pytest.mark.parametrize(
    ("split", "agreements", "disagreements", "rate", "alpha"),
    [(127, 445, 199, 0.691, 0.382), (106, 466, 178, 0.724, 0.447)],
    ids=["instruction following", "music quality"],
)
def test_table_6_of_cmi_reward_bench(split, agreements, disagreements, rate, alpha):
    found = agreement(as_published(split))
    assert (found.units, found.votes, found.agreeing.n) == (492, 1056, 644)
    assert (found.agreeing.hits, found.disagreements) == (agreements, disagreements)
    assert found.agreeing.value == pytest.approx(rate, abs=5e-4)
    assert found.alpha == pytest.approx(alpha, abs=5e-4)
    assert found.alpha == alpha_of_pairs(disagreements, 644)


def test_table_7_of_cmi_reward_bench():
    one = np.zeros(3309 + 718, dtype=bool)
    other = np.arange(len(one)) >= 3309
    found = same_preference(
        (one, other),
        (np.where(other, 3.171, 3.674), np.where(other, 3.311, 3.734)),
        clusters=np.arange(len(one)) % 7,
        resampling=FEW,
    )
    assert (found.same.hits, found.different) == (3309, 718)
    assert found.same.value == pytest.approx(0.822, abs=5e-4)
    assert found.confidence_same == pytest.approx((3.674, 3.734))
    assert found.confidence_different == pytest.approx((3.171, 3.311))


def test_means_are_of_those_who_gave_a_confidence():
    found = same_preference(
        ([True, True], [True, True]), ([3.0, np.nan], [np.nan, np.nan]), clusters=None, resampling=FEW
    )
    assert found.confidence_same == (3.0, None)
    assert found.confidence_different == (None, None)


def test_with_two_votes_each_both_alphas_differ_by_the_size_of_the_sample_alone():
    units = [[True, False]] * 3 + [[True, True]] * 4 + [[False, False]] * 5
    unit = [number for number, sides in enumerate(units) for _ in sides]
    symmetric = symmetric_alpha(patterns_from_long(unit, [side for sides in units for side in sides])).alpha
    n = len(unit)
    assert 1 - symmetric == pytest.approx((1 - agreement(units).alpha) * (n - 1) / n)


@settings(max_examples=40, deadline=None)
@given(votes, st.randoms(use_true_random=False))
def test_every_pair_of_votes_on_a_unit_is_compared(rows, shuffle):
    pairs = [(a, b) for a, b in combinations(rows, 2) if a[0] == b[0]]
    unit, side = [row[0] for row in rows], [row[1] for row in rows]
    found = pair_agreement(unit, side, clusters=unit, resampling=FEW)
    assert (found.agreeing.n, found.agreeing.hits) == (len(pairs), sum(a[1] == b[1] for a, b in pairs))
    mixed = shuffle.sample(rows, len(rows))
    other = [row[0] for row in mixed]
    assert pair_agreement(other, [row[1] for row in mixed], clusters=other, resampling=FEW) == found
    assert pair_agreement(unit, [not one for one in side], clusters=unit, resampling=FEW) == found


def test_no_pairs_are_no_agreement():
    found = pair_agreement([1, 2], [True, False], clusters=[1, 2], resampling=FEW)
    assert (found.agreeing.value, found.alpha, found.agreeing.reason) == (None, None, "no_votes")
