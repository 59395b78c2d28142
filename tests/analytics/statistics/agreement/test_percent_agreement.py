from __future__ import annotations

import pytest

from analytics.statistics.agreement.patterns import patterns_from_counts
from analytics.statistics.agreement.percent_agreement import PercentAgreement, percent_agreement


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
