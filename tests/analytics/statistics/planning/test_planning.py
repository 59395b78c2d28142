"""Planning: sample sizes for means, win rates and agreement; variance components; how often majorities are right."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analytics.statistics.agreement.alpha import Agreement, krippendorff_alpha, symmetric_alpha
from analytics.statistics.agreement.patterns import patterns_from_long
from analytics.statistics.planning.majority import mixed_majority_accuracy, plan_majority, wald_lead
from analytics.statistics.planning.sample_size import (
    SENTENCES,
    StudyDesign,
    VarianceComponents,
    alpha_half_width,
    design_effect,
    difference_power,
    fewest_items,
    mean_half_width,
    normal_root_error,
    pairable_overlap,
    pairable_share,
    plan_alpha,
    plan_difference,
    plan_mean,
    plan_preference,
    plan_win_rate,
    power_of_t,
    preference_power,
    root_error_at_overlap,
    root_n_error,
    vote_components,
    votes_for_preference,
)
from analytics.statistics.planning.variance_components import SENTENCES as COMPONENT_SENTENCES
from analytics.statistics.planning.variance_components import variance_components

# Everybody's votes on everything independent, as if each vote had a rater and an item of its own.
ALONE = VarianceComponents(raters=0.0, items=0.0, outputs=0.0, residual=1.0)
CLUSTERED = VarianceComponents(raters=0.1, items=0.15, outputs=0.2, residual=0.7)
ONE_EACH = StudyDesign(blocks=1, items=1, overlap=1, votes_per_rater=1)


@pytest.mark.parametrize(
    ("df", "noncentrality"), [(1, 0.5), (1, 6.0), (2, 2.9), (5, 0.0), (33, 2.9), (200, 2.8)]
)
def test_power_of_a_t_test_is_that_of_the_noncentral_t(df, noncentrality):
    critical = stats.t.ppf(0.975, df)
    expected = stats.nct.sf(critical, df, noncentrality) + stats.nct.cdf(-critical, df, noncentrality)
    assert power_of_t(noncentrality, df=df) == pytest.approx(expected, abs=1e-4)


def test_power_with_many_degrees_of_freedom_is_the_normal_one():
    assert power_of_t(2.801585, df=10_000) == pytest.approx(0.8, abs=1e-4)
    assert power_of_t(2.8, df=5001) == pytest.approx(power_of_t(2.8, df=5000), abs=2e-4)


@pytest.mark.parametrize(("effect", "items"), [(0.5, 34), (0.8, 15), (0.2, 199)])
def test_paired_differences_need_the_published_numbers(effect, items):
    """Cohen's small, medium and large effects at 5 % and 80 %, as tables for the paired t test have them."""
    half = replace(ALONE, residual=0.5)  # so that a difference of two votes has variance 1
    found = plan_difference(half, replace(ONE_EACH, blocks=2), difference=effect)
    assert found.design.items == items
    assert found.reached >= 0.8


@pytest.mark.parametrize(("half_width", "independent"), [(0.25, 62), (0.2, 97), (0.5, 16)])
def test_independent_votes_need_what_the_textbook_says_and_a_few_for_estimating_the_spread(
    half_width, independent
):
    """(1.96 s / h)^2 takes the spread for known; with Student's t two votes or three more are needed."""
    found = plan_mean(ALONE, ONE_EACH, half_width=half_width)
    assert independent < found.design.items <= independent + 4
    t = stats.t.ppf(0.975, found.design.items - 1)
    assert found.reached == pytest.approx(t / math.sqrt(found.design.items), abs=1e-12)
    assert found.design_effect == pytest.approx(1.0)


def test_more_votes_per_output_help_less_than_more_outputs():
    wide = mean_half_width(CLUSTERED, StudyDesign(4, 100, 2, 40))
    more_votes = mean_half_width(CLUSTERED, StudyDesign(4, 100, 4, 40))
    more_items = mean_half_width(CLUSTERED, StudyDesign(4, 200, 2, 40))
    assert more_items < more_votes < wide


def test_the_design_effect_of_one_kind_of_cluster_is_kishs():
    """1 + (m - 1) ICC: outputs with five votes each, and no severity."""
    by_output = VarianceComponents(raters=0.0, items=0.0, outputs=0.3, residual=0.7)
    assert design_effect(by_output, StudyDesign(1, 50, 5, 10)) == pytest.approx(1 + 4 * 0.3)
    by_rater = VarianceComponents(raters=0.02, items=0.0, outputs=0.0, residual=0.98)
    assert design_effect(by_rater, StudyDesign(1, 200, 1, 20)) == pytest.approx(1 + 19 * 0.02)


def test_severity_counts_against_a_difference_unless_a_rater_hears_both():
    design = StudyDesign(2, 100, 3, 40)
    apart = difference_power(CLUSTERED, design, 0.2)
    panel = difference_power(CLUSTERED, replace(design, panel=True), 0.2)
    no_severity = difference_power(replace(CLUSTERED, raters=0.0), design, 0.2)
    assert apart < panel == pytest.approx(no_severity)


def test_how_good_an_item_is_for_all_does_not_matter_to_a_difference():
    design = StudyDesign(2, 100, 3, 40)
    easy = difference_power(replace(CLUSTERED, items=5.0), design, 0.2)
    assert easy == pytest.approx(difference_power(CLUSTERED, design, 0.2))


def test_a_plan_says_what_it_takes_for_granted_in_words():
    plans = [
        plan_mean(CLUSTERED, ONE_EACH, half_width=0.3),
        plan_difference(CLUSTERED, ONE_EACH, difference=0.5),
    ]
    assert all(SENTENCES[code] for plan in plans for code in plan.assumptions)
    assert "severity_falls_evenly" in plans[1].assumptions


def test_raters_are_as_many_as_their_votes_ask_for_and_never_fewer_than_an_output_needs():
    assert StudyDesign(4, 90, 6, 20).raters == 108
    assert StudyDesign(1, 2, 5, 100).raters == 5
    assert StudyDesign(1, 90, 6, 20).votes == 540


def test_severe_raters_put_a_floor_under_a_mean_that_items_cannot_lift():
    found = plan_mean(VarianceComponents(0.5, 0.0, 0.1, 0.5), StudyDesign(1, 1, 3, 10**9), half_width=0.1)
    assert (found.design, found.reason) == (None, "too_many")
    assert SENTENCES[found.reason]


@pytest.mark.parametrize("design", [StudyDesign(1, 1, 3, 20), StudyDesign(1, 100, 1, 100)])
def test_one_item_or_one_rater_gives_no_interval(design):
    assert mean_half_width(CLUSTERED, design) is None


def test_without_any_spread_there_is_nothing_to_be_unsure_of():
    nothing = VarianceComponents(0.0, 0.0, 0.0, 0.0)
    assert mean_half_width(nothing, StudyDesign(2, 2, 2, 2)) == 0
    assert difference_power(nothing, StudyDesign(2, 2, 2, 2), 0.1) == 1
    assert plan_mean(nothing, ONE_EACH, half_width=0.1).design.items == 2


@pytest.mark.parametrize("half_width", [0.0, -1.0, math.nan, math.inf])
def test_a_target_is_a_number_above_zero(half_width):
    with pytest.raises(ValueError, match="above zero"):
        plan_mean(CLUSTERED, ONE_EACH, half_width=half_width)


@pytest.mark.parametrize("name", ["blocks", "items", "overlap", "votes_per_rater"])
def test_a_design_is_not_empty(name):
    with pytest.raises(ValueError, match=name):
        mean_half_width(CLUSTERED, replace(ONE_EACH, **{name: 0}))


@given(st.integers(1, 10_000), st.integers(1, 50))
def test_the_fewest_is_the_first_that_is_enough(threshold, least):
    plan = fewest_items(ONE_EACH, lambda design: design.items, lambda n: n >= threshold, (), least=least)

    assert plan.design.items == max(threshold, least)


def test_what_is_never_enough_is_not_searched_for_for_ever():
    assert fewest_items(ONE_EACH, lambda design: 1.0, lambda n: False, ()).reason == "too_many"


def test_the_variance_of_a_mean_is_that_of_drawn_means():
    """Severity and outputs, with raters assigned at random, drawn two thousand times over."""
    rng, design = np.random.default_rng(5), StudyDesign(2, 40, 2, 16)
    assert design.raters == 10
    runs, n = 2000, design.votes
    rater = rng.permuted(np.tile(np.arange(n) % design.raters, (runs, 1)), axis=1)
    severity = rng.normal(0, math.sqrt(0.1), (runs, design.raters))
    output = rng.normal(0, math.sqrt(0.35), (runs, 2, 40, 1))
    votes = output + rng.normal(0, math.sqrt(0.7), (runs, 2, 40, 2))
    votes += np.take_along_axis(severity, rater, axis=1).reshape(votes.shape)
    drawn = votes.mean(axis=(2, 3))[:, 0].var(ddof=1)
    expected = design_effect(CLUSTERED, design) * CLUSTERED.total / (40 * 2)
    assert drawn == pytest.approx(expected, rel=0.08)


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


PAIRS = StudyDesign(blocks=1, items=1, overlap=2, votes_per_rater=50)


def test_a_pilot_of_as_many_units_gives_its_own_interval_back():
    """Krippendorff's example of 11 pairable units: ordinal alpha 0.815, jackknife error 0.148031."""
    found = plan_alpha(root_n_error(0.148031, units=11), PAIRS, half_width=0.148031 * 2.2281389 + 1e-6)
    assert found.design.items == 11
    assert found.reached == pytest.approx(0.148031 * 2.2281389, rel=1e-6)


def test_four_times_the_units_halve_the_error():
    wide, narrow = (plan_alpha(1.0, PAIRS, half_width=h).design.items for h in (0.1, 0.05))
    assert narrow == pytest.approx(4 * wide, rel=0.01)


def test_published_agreement_of_preferences():
    """492 comparisons of which 31 % of the pairs of votes disagree: the error of 1 - 2 D over units of two votes."""
    root = 2 * math.sqrt(0.309 * 0.691)
    assert alpha_half_width(root, 492) == pytest.approx(0.082, abs=1e-3)


@pytest.mark.parametrize(("alpha", "overlap"), [(0.5, 2), (0.7, 3), (0.2, 5)])
def test_the_error_for_normal_ratings_is_the_jackknifes(alpha, overlap):
    rng, units = np.random.default_rng(11), 3000
    quality = rng.normal(0, math.sqrt(alpha), (units, 1))
    ratings = np.round(quality + rng.normal(0, math.sqrt(1 - alpha), (units, overlap)), 1)
    found = krippendorff_alpha(
        patterns_from_long(np.repeat(np.arange(units), overlap), ratings.ravel()), level="interval"
    )
    error = (found.alpha - found.ci[0]) / 1.9607
    assert root_n_error(error, units=units) == pytest.approx(normal_root_error(alpha, overlap), rel=0.06)


def test_more_raters_of_a_unit_make_a_pilots_error_smaller():
    errors = [root_error_at_overlap(0.9, 0.4, pilot_overlap=2, overlap=k) for k in (2, 3, 5, 7)]
    assert errors[0] == pytest.approx(0.9)
    assert errors == sorted(errors, reverse=True)


def test_perfect_agreement_says_nothing_about_its_error():
    assert plan_alpha(0.0, PAIRS, half_width=0.05).reason == "at_the_edge"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plan_alpha(0.9, StudyDesign(1, 1, 1, 20), half_width=0.1), "two ratings"),
        (lambda: plan_alpha(0.9, PAIRS, half_width=0.0), "above zero"),
        (lambda: normal_root_error(1.0, 2), "Alpha lies"),
        (lambda: normal_root_error(0.5, 1), "two ratings"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_one_unit_has_no_interval():
    assert alpha_half_width(0.9, 1) is None


@pytest.mark.parametrize(("ties", "overlap"), [(0.0, 3), (0.3, 2), (0.4, 5)])
def test_what_ties_leave_is_counted_over_all_outcomes(ties, overlap):
    chance = {
        n: math.comb(overlap, n) * (1 - ties) ** n * ties ** (overlap - n) for n in range(2, overlap + 1)
    }
    assert pairable_share(ties, overlap) == pytest.approx(sum(chance.values()))
    mean = sum(n * p for n, p in chance.items()) / sum(chance.values())
    assert pairable_overlap(ties, overlap) == pytest.approx(mean)


def test_the_promised_width_is_delivered_where_a_third_of_the_votes_are_ties():
    """A pilot's error is by its pairable comparisons; the plan counts the ones to collect."""
    rng = np.random.default_rng(2)

    def alpha(units: int) -> Agreement:
        leaning = rng.beta(0.8, 0.8, units)[:, None]
        votes = np.where(rng.random((units, 2)) < leaning, 1.0, 2.0)
        votes[rng.random(votes.shape) < 1 / 3] = np.nan
        return symmetric_alpha(patterns_from_long(np.repeat(np.arange(units), 2), votes.ravel()))

    pilot = alpha(2000)
    error = (pilot.alpha - pilot.ci[0]) / 1.9625
    found = plan_alpha(root_n_error(error, units=pilot.pairable_units), PAIRS, half_width=0.1, ties=1 / 3)
    widths = [np.ptp(alpha(found.design.items).ci) / 2 for _ in range(20)]
    assert found.reached <= 0.1
    assert np.mean(widths) == pytest.approx(0.1, rel=0.05)
    assert "ties_unpaired" in found.assumptions


# Variance components of votes: equal to the analysis of variance where that is defined, and right on average.


def complete(rng, *, outputs=12, raters=8, severity=0.5, quality=1.0, noise=0.7):
    """(outputs, raters) votes on one system's outputs, by everybody."""
    votes = rng.normal(0, quality, (outputs, 1)) + rng.normal(0, severity, (1, raters))
    return votes + rng.normal(0, noise, (outputs, raters))


def columns(votes):
    outputs, raters = votes.shape
    unit, rater = (grid.ravel() for grid in np.indices((outputs, raters)))
    return votes.ravel(), {"unit": unit, "system": np.zeros_like(unit), "item": unit, "rater": rater}


def test_a_complete_table_gives_the_analysis_of_variance():
    votes = complete(np.random.default_rng(1))
    n, k = votes.shape
    rows, people = votes.mean(axis=1), votes.mean(axis=0)
    between_outputs = k * rows.var(ddof=1)
    between_raters = n * people.var(ddof=1)
    rest = ((votes - rows[:, None] - people + votes.mean()) ** 2).sum() / (n - 1) / (k - 1)
    values, where = columns(votes)
    found = variance_components(values, **where)
    assert found.components.raters == pytest.approx((between_raters - rest) / n)
    assert found.components.outputs == pytest.approx((between_outputs - rest) / k)
    assert found.components.residual == pytest.approx(rest)
    assert found.components.items == 0
    assert found.notes == ("small", "no_shared_items")


def test_sparse_votes_of_several_systems_are_right_on_average():
    """Forty studies of three systems on 60 items, each answer rated by 3 of 20 raters."""
    rng, drawn = np.random.default_rng(2), []
    for _ in range(40):
        item, system = (grid.ravel() for grid in np.indices((60, 3)))
        unit = np.repeat(np.arange(180), 3)
        rater = rng.permuted(np.tile(np.arange(20), (180, 1)), axis=1)[:, :3].ravel()
        values = rng.normal(0, 0.6, 60)[item] + rng.normal(0, 0.5, 180) + np.array([0.0, 2.0, 5.0])[system]
        votes = values[unit] + rng.normal(0, 0.4, 20)[rater] + rng.normal(0, 0.8, 540)
        found = variance_components(votes, unit=unit, system=system[unit], item=item[unit], rater=rater)
        parts = found.components
        drawn.append((parts.raters, parts.items, parts.outputs, parts.residual))
        assert not found.notes
    assert np.mean(drawn, axis=0) == pytest.approx([0.16, 0.36, 0.25, 0.64], abs=0.04)


def test_neither_order_nor_names_nor_the_zero_of_the_scale_matter():
    rng = np.random.default_rng(3)
    values, where = columns(complete(rng))
    order = rng.permutation(len(values))
    moved = variance_components(
        values[order] + 1000,
        **{name: 7 * column[order] + 3 for name, column in where.items()},
    )
    for name in ("raters", "outputs", "residual"):
        expected = getattr(variance_components(values, **where).components, name)
        assert getattr(moved.components, name) == pytest.approx(expected)


def test_raters_who_are_not_named_make_severity_part_of_the_noise():
    values, where = columns(complete(np.random.default_rng(4)))
    named = variance_components(values, **where).components
    unnamed = variance_components(values, **{**where, "rater": np.full(len(values), -1)})
    assert unnamed.components.raters == 0
    assert "raters_apart" in unnamed.notes
    assert unnamed.components.residual > named.residual


def test_a_missing_rating_is_no_vote():
    values, where = columns(complete(np.random.default_rng(5)))
    with_gap = np.append(values, math.nan)
    found = variance_components(with_gap, **{name: np.append(column, 0) for name, column in where.items()})
    assert found.components == variance_components(values, **where).components
    assert found.votes == len(values)


@pytest.mark.parametrize(
    ("units", "raters", "note"),
    [
        ([], [], "no_votes"),
        ([0, 1, 2], [0, 1, 2], "one_vote_each"),
        ([0, 0, 0], [0, 1, 2], "one_output_each"),
    ],
)
def test_what_votes_cannot_tell_is_said(units, raters, note):
    unit, rater = np.array(units, dtype=np.int64), np.array(raters, dtype=np.int64)
    found = variance_components(
        np.arange(len(units), dtype=float), unit=unit, system=0 * unit, item=unit, rater=rater
    )
    assert found.components is None
    assert note in found.notes
    assert all(COMPONENT_SENTENCES[code] for code in found.notes)


def test_equal_votes_have_no_variance():
    values, where = columns(np.full((6, 4), 3.0))
    assert variance_components(values, **where).components.total == 0


# How often majorities are right.


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
