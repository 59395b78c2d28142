"""Votes for a mean and for a difference: against textbook numbers, other packages and drawn votes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analytics.statistics.planning.sample_size import (
    SENTENCES,
    StudyDesign,
    VarianceComponents,
    design_effect,
    difference_power,
    mean_half_width,
    plan_difference,
    plan_mean,
    power_of_t,
    smallest_sufficient,
)

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
    assert smallest_sufficient(lambda n: n >= threshold, least=least) == max(threshold, least)


def test_what_is_never_enough_is_not_searched_for_for_ever():
    assert smallest_sufficient(lambda n: False, most=1000) is None


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
