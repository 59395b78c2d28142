"""How often majorities are right."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analytics.statistics.planning.majority import mixed_majority_accuracy, plan_majority, wald_lead


def test_an_even_number_of_votes_is_worth_one_less():
    even, odd = (mixed_majority_accuracy(votes, correlation=0.4) for votes in (4, 3))
    assert even == pytest.approx(odd)


@pytest.mark.parametrize("votes", [1, 3, 5, 7, 9])
@pytest.mark.parametrize("a", [0.2, 0.816, 3.0])
def test_items_that_differ_are_averaged_over_the_beta_distribution(votes, a):
    shares = np.linspace(0, 0.5, 40_001)[1:]
    masses = np.diff(stats.beta.cdf(np.linspace(0, 0.5, 40_001), a, a)) * 2
    right = stats.binom.cdf((votes - 1) // 2, votes, shares - 0.5 / 80_000)
    expected = float((right * masses).sum())
    assert mixed_majority_accuracy(votes, correlation=1 / (2 * a + 1)) == pytest.approx(expected, abs=3e-4)


def test_preferences_as_mixed_as_published_ones_need_many_votes():
    """Beta(0.816, 0.816), two raters agreeing on 69 %: drawn elsewhere as .769, .828, .858, .878, .889."""
    found = [mixed_majority_accuracy(n, correlation=1 / 2.632) for n in (1, 3, 5, 7, 9)]
    assert found == pytest.approx([0.769, 0.828, 0.858, 0.878, 0.889], abs=0.004)


def test_a_plan_has_the_fewest_odd_votes_and_the_lead_that_does_as_well():
    plan = plan_majority(0.9, correlation=0.4)
    assert plan.votes % 2 == 1
    assert mixed_majority_accuracy(plan.votes - 2, correlation=0.4) < 0.9 <= plan.accuracy
    assert plan.lead == wald_lead(plan.one_vote, false_alarm=0.1, miss=0.1).lead
    assert plan.expected_votes < plan.votes


def test_items_near_the_middle_can_make_a_target_unreachable():
    assert plan_majority(0.99, correlation=0.01).votes is None
    assert plan_majority(0.9, correlation=0.0).lead is None


def test_items_all_alike_and_all_clear():
    assert mixed_majority_accuracy(5, correlation=0.0) == pytest.approx(0.5)
    assert mixed_majority_accuracy(1, correlation=1.0) == 1


@pytest.mark.parametrize("accuracy", [0.5, 1.0, 1.2])
def test_a_target_lies_between_guessing_and_certainty(accuracy):
    with pytest.raises(ValueError, match="accuracy"):
        plan_majority(accuracy, correlation=0.4)
