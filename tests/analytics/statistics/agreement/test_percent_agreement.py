"""Percent agreement: of ratings, of pairs of votes (CMI-RewardBench's Tables 6 and 7), and by confidence."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytics.statistics.agreement.alpha import symmetric_alpha
from analytics.statistics.agreement.patterns import patterns_from_counts, patterns_from_long
from analytics.statistics.agreement.percent_agreement import (
    NO_MAJORITY,
    PercentAgreement,
    agreement_by_confidence,
    agrees_with_others,
    pair_agreement,
    percent_agreement,
    same_preference,
)
from analytics.statistics.bootstrap import Resampling


def test_its_three_forms_weigh_pairs_units_and_ratings():
    # 1 of 1 pairs equal, 3 of 6, 0 of 1, and a unit without pairs
    result = percent_agreement(patterns_from_counts([1, 2], [[2, 0], [3, 1], [1, 1], [0, 1]]))

    assert result.pooled_pairs == pytest.approx((1 + 3 + 0) / (1 + 6 + 1))
    assert result.per_unit_mean == pytest.approx((1 + 3 / 6 + 0) / 3)
    assert result.observed == pytest.approx((2 * 1 + 4 * 3 / 6 + 2 * 0) / 8)
    assert (result.pairable_units, result.pairs, result.reason) == (3, 8, None)


def test_its_forms_are_the_same_when_all_units_have_the_same_number_of_ratings():
    result = percent_agreement(patterns_from_counts([1, 2, 3], [[2, 1, 0], [3, 0, 0], [1, 1, 1], [0, 0, 3]]))

    forms = [result.pooled_pairs, result.per_unit_mean, result.observed]
    assert forms == pytest.approx([7 / 12] * 3, abs=1e-15)


@pytest.mark.parametrize(
    ("counts", "reason"), [([[0, 0]], "no_ratings"), ([[1, 0], [0, 1]], "no_pairable_units")]
)
def test_it_is_none_with_a_reason_without_pairs(counts, reason):
    assert percent_agreement(patterns_from_counts([1, 2], counts)) == PercentAgreement(
        None, None, None, 0, 0, reason
    )


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
    assert found.alpha == 1 - 2 * disagreements / 644


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


sided_votes = st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=25)


@settings(max_examples=60, deadline=None)
@given(sided_votes)
def test_a_vote_is_compared_with_all_others_on_its_unit(rows):
    expected = []
    for place, (unit, side) in enumerate(rows):
        others = [one for other, (where, one) in enumerate(rows) if where == unit and other != place]
        ahead = 2 * sum(one == side for one in others) - len(others)
        expected.append(NO_MAJORITY if ahead == 0 else int(ahead > 0))
    assert agrees_with_others([u for u, _ in rows], [s for _, s in rows]).tolist() == expected


def test_the_surer_are_told_from_the_unsure():
    unit, side = [0, 0, 0, 1, 1, 1, 2], [True, True, False, True, True, True, True]
    confidence = np.array([5, 5, 1, 5, 1, np.nan, 3])
    found = agreement_by_confidence(
        confidence, agrees_with_others(unit, side), clusters=None, resampling=Resampling(replicates=10)
    )
    # Of the first unit, each of the two who agree sees one vote either way.
    counts = {one.level: (one.votes, one.with_others.hits, one.with_others.n) for one in found}
    assert counts == {1: (2, 1, 2), 3: (1, 0, 0), 5: (3, 1, 1)}
    assert found[1].with_others.reason == "no_votes"
