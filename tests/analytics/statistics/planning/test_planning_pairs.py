"""Votes for a win rate: against scipy's exact test, published tables and each other."""

from __future__ import annotations

import pytest
from scipy import stats

from analytics.statistics.planning.sample_size import (
    SENTENCES,
    StudyDesign,
    plan_preference,
    plan_win_rate,
    preference_power,
    vote_components,
    votes_for_preference,
)

ONE_EACH = StudyDesign(blocks=1, items=1, overlap=1, votes_per_rater=1)


@pytest.mark.parametrize(("n", "p"), [(10, 0.9), (33, 0.7), (96, 0.62), (385, 0.55), (6, 0.99), (5, 0.99)])
def test_power_is_that_of_the_exact_test(n, p):
    rejected = [k for k in range(n + 1) if stats.binomtest(k, n).pvalue <= 0.05]
    assert preference_power(n, p) == pytest.approx(sum(stats.binom.pmf(k, n, p) for k in rejected), abs=1e-10)


@pytest.mark.parametrize(("p", "normal"), [(0.6, 194), (0.65, 85), (0.7, 47), (0.55, 783)])
def test_exact_votes_are_a_few_more_than_the_normal_formula_gives(p, normal):
    needed, exact = votes_for_preference(p)
    assert exact
    assert normal < needed < 1.2 * normal


def test_from_there_on_the_power_stays():
    needed, _ = votes_for_preference(0.65)
    assert preference_power(needed - 1, 0.65) < 0.8
    assert min(preference_power(n, 0.65) for n in range(needed, needed + 60)) >= 0.8


def test_many_votes_are_counted_by_the_normal_formula():
    assert votes_for_preference(0.51) == (19_620, False)
    assert preference_power(19_620, 0.51) == pytest.approx(0.8, abs=1e-3)


def test_which_side_is_the_better_does_not_matter():
    assert votes_for_preference(0.35) == votes_for_preference(0.65)
    assert preference_power(60, 0.35) == pytest.approx(preference_power(60, 0.65))


@pytest.mark.parametrize(("half_width", "votes"), [(0.1, 96), (0.05, 385)])
def test_the_interval_of_a_share_takes_the_usual_number_of_independent_votes(half_width, votes):
    found = plan_win_rate(vote_components(0.5), ONE_EACH, half_width=half_width)
    assert votes <= found.design.votes <= votes + 4


def test_ties_narrow_a_win_rate_but_cost_a_test_its_votes():
    few, many = (plan_win_rate(vote_components(0.5, ties=t), ONE_EACH, half_width=0.05) for t in (0.0, 0.4))
    assert many.design.votes < few.design.votes
    sure, unsure = (plan_preference(0.65, ONE_EACH, ties=t) for t in (0.0, 0.4))
    assert unsure.design.votes == pytest.approx(sure.design.votes / 0.6, abs=1)


def test_votes_on_the_same_comparison_are_worth_less():
    spread = plan_preference(0.6, StudyDesign(1, 1, 1, 20), between_items=0.4)
    stacked = plan_preference(0.6, StudyDesign(1, 1, 5, 20), between_items=0.4)
    assert stacked.design_effect == pytest.approx(1 + 4 * 0.4)
    assert stacked.design.votes == pytest.approx(spread.design.votes * 2.6, abs=5)
    assert stacked.design.items < spread.design.items


def test_every_pair_of_systems_gets_its_votes():
    one = plan_preference(0.6, StudyDesign(1, 1, 3, 20))
    three = plan_preference(0.6, StudyDesign(3, 1, 3, 20))
    assert three.design.votes == 3 * one.design.votes


@pytest.mark.parametrize("p", [0.5])
def test_an_even_chance_has_nothing_to_find(p):
    found = plan_preference(p, ONE_EACH)
    assert (found.design, found.reason) == (None, "even_chance")


def test_a_certain_winner_is_found_with_the_fewest_votes_the_test_can_use():
    assert votes_for_preference(1.0) == (6, True)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"win_rate": 1.2}, "win rate"),
        ({"win_rate": 0.6, "ties": 1.0}, "ties"),
        ({"win_rate": 0.6, "between_items": 0.7, "between_raters": 0.4}, "Correlations"),
        ({"win_rate": 0.6, "between_raters": -0.1}, "Correlations"),
    ],
)
def test_shares_are_shares(fields, message):
    with pytest.raises(ValueError, match=message):
        vote_components(**fields)


def test_the_assumptions_have_words():
    plans = [plan_preference(0.6, ONE_EACH), plan_win_rate(vote_components(0.6), ONE_EACH, half_width=0.1)]
    assert all(SENTENCES[code] for plan in plans for code in plan.assumptions)
