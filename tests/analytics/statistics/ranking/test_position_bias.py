"""Position bias: the exact test against scipy's, and whether orders were balanced."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from analytics.statistics.bootstrap import Resampling
from analytics.statistics.intervals import one_sided_binomial_p, two_sided_binomial_p
from analytics.statistics.ranking.position_bias import OrderBalance, order_balance, position_bias

FEW = Resampling(replicates=50)


@pytest.mark.parametrize(("k", "n"), [(0, 1), (5, 10), (8, 10), (2, 10), (61, 100), (3_100, 6_000)])
def test_the_test_is_scipys_exact_one(k, n):
    assert two_sided_binomial_p(k, n) == pytest.approx(binomtest(k, n).pvalue, rel=1e-10)


def test_it_is_twice_the_chance_of_guessing():
    assert two_sided_binomial_p(8, 10) == pytest.approx(2 * one_sided_binomial_p(8, 10), rel=1e-12)


def test_no_votes_are_no_evidence():
    assert two_sided_binomial_p(0, 0) is None
    with pytest.raises(ValueError, match="3 of 2"):
        two_sided_binomial_p(3, 2)


def test_the_share_is_of_what_was_shown_first():
    found = position_bias([True, True, False, True] * 2, clusters=[0, 0, 1, 2, 3, 3, 4, 5], resampling=FEW)
    assert (found.first.hits, found.first.n, found.first.value) == (6, 8, 0.75)
    assert found.p_value == pytest.approx(74 / 256)
    assert found.first.interval is not None


def test_nothing_decided_is_no_bias():
    found = position_bias([], clusters=[], resampling=FEW)
    assert (found.first.value, found.first.reason, found.p_value) == (None, "no_votes", None)


def test_a_pair_is_balanced_up_to_one_showing():
    pair = [7, 7, 7, 3, 3, 3, 9]
    swapped = [False, True, False, True, True, True, False]
    assert order_balance(pair, swapped) == OrderBalance(listed=3, swapped=4, pairs=3, even_pairs=2, largest=3)
    assert order_balance([], []) == OrderBalance(0, 0, 0, 0, 0)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.booleans())))
def test_turning_every_order_turns_the_counts_alone(rows):
    pairs, swapped = [pair for pair, _ in rows], [turned for _, turned in rows]
    one, other = order_balance(pairs, swapped), order_balance(pairs, [not turned for turned in swapped])
    assert (other.listed, other.swapped) == (one.swapped, one.listed)
    assert (other.pairs, other.even_pairs, other.largest) == (one.pairs, one.even_pairs, one.largest)
