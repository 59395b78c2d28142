"""The exact test against guessing."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.statistics.intervals import one_sided_binomial_p


@pytest.mark.parametrize(
    ("correct", "n", "chance"),
    [
        # The tables printed with ABX tests: 12 of 16 is the usual mark of 95 %.
        (12, 16, 0.0384),
        (11, 16, 0.1051),
        (9, 10, 0.0107),
        (5, 5, 0.03125),
        (0, 7, 1.0),
        (1, 1, 0.5),
    ],
)
def test_published_chances_of_guessing(correct, n, chance):
    assert one_sided_binomial_p(correct, n) == pytest.approx(chance, abs=5e-5)


@given(n=st.integers(1, 200), data=st.data())
def test_it_is_the_sum_of_the_exact_terms(n, data):
    correct = data.draw(st.integers(0, n))
    assert one_sided_binomial_p(correct, n) == float(
        Fraction(sum(comb(n, k) for k in range(correct, n + 1)), 2**n)
    )


def test_it_does_not_drown_in_many_answers():
    assert one_sided_binomial_p(10_000, 20_000) == pytest.approx(0.5028, abs=1e-4)
    assert one_sided_binomial_p(20_000, 20_000) == 0.0  # smaller than any float


def test_nothing_answered_has_no_chance():
    assert one_sided_binomial_p(0, 0) is None


@pytest.mark.parametrize(("correct", "n"), [(3, 2), (-1, 2)])
def test_more_right_than_asked_is_refused(correct, n):
    with pytest.raises(ValueError, match="cannot be right"):
        one_sided_binomial_p(correct, n)
