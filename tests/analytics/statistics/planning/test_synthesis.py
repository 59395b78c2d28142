"""Synthetic raters answer as they are told to, and a simulated pilot finds what formulas promise."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest

from analytics.statistics.agreement.alpha import krippendorff_alpha, symmetric_alpha
from analytics.statistics.agreement.patterns import patterns_from_long
from analytics.statistics.planning.sample_size import (
    StudyDesign,
    VarianceComponents,
    mean_half_width,
    plan_difference,
    plan_preference,
)
from analytics.statistics.planning.simulated_pilot import (
    PreferenceWorld,
    RatingScale,
    RatingWorld,
    clustered_half_widths,
    draw_preferences,
    draw_raters,
    draw_ratings,
    followed_alpha,
    simulated_pilot,
    system_pairs,
)
from analytics.statistics.planning.variance_components import variance_components

FIVE = RatingScale((1.0, 2.0, 3.0, 4.0, 5.0))
FINE = RatingScale(tuple(np.linspace(-7, 13, 401)))
PARTS = VarianceComponents(raters=0.1, items=0.15, outputs=0.2, residual=0.7)


def flat(who):
    """Where each vote of the first run stands."""
    item, block, _ = (grid.ravel() for grid in np.indices(who.shape[1:]))
    return {"unit": item * who.shape[2] + block, "system": block, "item": item, "rater": who[0].ravel()}


@pytest.mark.parametrize("panel", [False, True])
def test_an_output_meets_different_raters_and_loads_are_equal(panel):
    design = StudyDesign(3, 50, 4, 25, panel=panel)
    raters = draw_raters(np.random.default_rng(1), design, runs=3, careless=0.0)
    assert raters.who.shape == (3, 50, 3, 4)
    assert (np.diff(np.sort(raters.who, axis=3), axis=3) > 0).all()
    loads = np.bincount(raters.who[0].ravel(), minlength=design.raters)
    assert loads.max() - loads.min() <= (9 if panel else 4)
    assert (raters.who[:, :, 0] == raters.who[:, :, 2]).all() == panel


def test_ratings_have_the_components_they_were_drawn_with():
    rng, design, found = np.random.default_rng(2), StudyDesign(3, 200, 3, 40), []
    for _ in range(12):
        raters = draw_raters(rng, design, runs=1, careless=0.0)
        votes = draw_ratings(rng, RatingWorld(FINE, PARTS, difference=0.5), design, raters)
        found.append(list(asdict(variance_components(votes.ravel(), **flat(raters.who)).components).values()))
    assert np.mean(found, axis=0) == pytest.approx([0.1, 0.15, 0.2, 0.7], abs=0.035)


def test_ratings_are_points_of_the_scale_and_the_first_system_is_the_best():
    rng, design = np.random.default_rng(3), StudyDesign(3, 300, 2, 40)
    raters = draw_raters(rng, design, runs=2, careless=0.1)
    votes = draw_ratings(rng, RatingWorld(FIVE, PARTS, difference=0.6), design, raters)
    assert set(np.unique(votes)) == set(FIVE.points)
    assert (np.diff(votes.mean(axis=(0, 1, 3))) < -0.3).all()


def test_careless_raters_answer_anything():
    rng, design = np.random.default_rng(4), StudyDesign(1, 2000, 1, 40)
    raters = draw_raters(rng, design, runs=1, careless=1.0)
    votes = draw_ratings(
        rng, RatingWorld(FIVE, replace(PARTS, residual=0.01), difference=0.0), design, raters
    )
    shares = np.unique(votes, return_counts=True)[1] / votes.size
    assert shares == pytest.approx(np.full(5, 0.2), abs=0.04)


def test_preferences_win_tie_and_hang_together_as_asked():
    rng, design = np.random.default_rng(5), StudyDesign(1, 4000, 4, 40)
    world = PreferenceWorld(0.6, ties=0.2, between_items=0.3)
    raters = draw_raters(rng, design, runs=1, careless=0.0)
    votes = draw_preferences(rng, world, design, raters, systems=2)
    assert (votes == 0.5).mean() == pytest.approx(0.2, abs=0.015)
    assert (votes == 1).sum() / (votes != 0.5).sum() == pytest.approx(0.6, abs=0.02)
    parts = variance_components(votes.ravel(), **flat(raters.who)).components
    assert parts.outputs / parts.total == pytest.approx(0.3, abs=0.04)


def test_a_lean_to_what_is_shown_first_hides_preferences():
    rng, design = np.random.default_rng(6), StudyDesign(1, 6000, 1, 40)
    raters = draw_raters(rng, design, runs=1, careless=0.0)
    plain, leaning = (
        draw_preferences(rng, PreferenceWorld(0.8, shown_first=p), design, raters, systems=2).mean()
        for p in (0.5, 0.9)
    )
    assert plain == pytest.approx(0.8, abs=0.02)
    assert leaning < 0.75


def test_the_same_seed_gives_the_same_study():
    world, design = RatingWorld(FIVE, PARTS, 0.3), StudyDesign(2, 20, 2, 10)
    first, again, other = (
        simulated_pilot(world, design, systems=2, level="ordinal", runs=5, seed=seed) for seed in (1, 1, 2)
    )
    assert first == again != other


def test_a_simulated_pilot_has_the_power_and_the_interval_that_were_planned():
    plan = plan_difference(PARTS, StudyDesign(3, 1, 3, 30), difference=0.35)
    found = simulated_pilot(
        RatingWorld(FINE, PARTS, 0.35), plan.design, systems=3, level="interval", runs=400
    )
    last = found.moments[-1]
    assert last.votes == plan.design.votes
    assert last.found == pytest.approx(plan.reached, abs=0.06)
    assert last.half_width.mean == pytest.approx(mean_half_width(PARTS, plan.design), rel=0.08)
    assert last.half_width.low < last.half_width.mean < last.half_width.high


def test_a_simulated_comparison_has_the_power_that_was_planned():
    plan = plan_preference(0.62, StudyDesign(1, 1, 3, 10), ties=0.1, between_items=0.3)
    found = simulated_pilot(
        PreferenceWorld(0.62, 0.1, 0.3), plan.design, systems=2, level="symmetric", runs=400
    )
    assert found.moments[-1].found == pytest.approx(plan.reached, abs=0.07)


def test_three_systems_are_compared_pair_by_pair_and_ranked_by_all_of_their_wins():
    found = simulated_pilot(
        PreferenceWorld(0.7, between_raters=0.05),
        StudyDesign(3, 60, 2, 12),
        systems=3,
        level="symmetric",
        runs=60,
    )
    last = found.moments[-1]
    assert last.votes == 360
    assert last.found > 0.9
    assert last.ranked == pytest.approx(last.better, abs=0.05)


def test_figures_settle_as_votes_come_in():
    found = simulated_pilot(
        RatingWorld(FIVE, PARTS, 0.5), StudyDesign(4, 60, 2, 24), systems=4, level="ordinal", runs=40
    )
    widths = [moment.half_width.mean for moment in found.moments]
    assert widths == sorted(widths, reverse=True)
    assert found.moments[0].found < found.moments[-1].found
    assert found.moments[-1].ranked > 0.8
    assert [moment.votes for moment in found.moments] == [8 * moment.items for moment in found.moments]


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "symmetric"])
def test_alpha_on_the_way_is_that_of_the_votes_so_far(level):
    rng = np.random.default_rng(7)
    votes = rng.choice([0.0, 0.5, 1.0], (30, 2, 3), p=[0.3, 0.2, 0.5])
    alphas = followed_alpha(votes, [10, 30], values=(0.0, 0.5, 1.0), level=level)
    for stop, alpha in zip((10, 30), alphas, strict=True):
        so_far = votes[:stop].reshape(-1, 3)
        units = np.repeat(np.arange(len(so_far)), 3)
        said = so_far.ravel()
        if level == "symmetric":
            expected = symmetric_alpha(patterns_from_long(units[said != 0.5], said[said != 0.5]))
        else:
            expected = krippendorff_alpha(patterns_from_long(units, said), level=level)
        assert alpha == pytest.approx(expected.alpha, abs=1e-12)


def test_clustered_intervals_are_those_of_sums_by_hand():
    rng, design = np.random.default_rng(8), StudyDesign(2, 15, 3, 12)
    raters = draw_raters(rng, design, runs=1, careless=0.0)
    votes = draw_ratings(rng, RatingWorld(FIVE, PARTS, 0.2), design, raters)
    apart = votes[0, :, 0] - votes[0, :, 0].mean()
    people = [apart[raters.who[0, :, 0] == person].sum() for person in range(design.raters)]
    by_item = (apart.sum(axis=1) ** 2).sum() * 15 / 14
    by_rater = sum(total**2 for total in people) * design.raters / (design.raters - 1)
    by_vote = (apart**2).sum() * 45 / 44
    variance = max(by_item + by_rater - by_vote, by_item, by_rater) / 45**2
    df = min(15, design.raters) - 1
    expected = variance**0.5 * {7: 2.3646243}[df]
    assert clustered_half_widths(votes, raters)[0, 0] == pytest.approx(expected, rel=1e-6)


def test_one_rater_and_one_vote_each_leave_figures_undefined_and_nothing_breaks():
    found = simulated_pilot(
        PreferenceWorld(0.6), StudyDesign(1, 20, 1, 50), systems=2, level="symmetric", runs=4
    )
    last = found.moments[-1]
    assert (last.half_width.mean, last.found, last.alpha.mean, found.alpha_runs) == (None, None, None, 0)
    assert last.better is not None
    alone = simulated_pilot(
        RatingWorld(FIVE, PARTS, 0.3), StudyDesign(1, 20, 2, 10), systems=1, level="ordinal", runs=4
    )
    assert (alone.moments[-1].found, alone.moments[-1].ranked) == (None, None)


@pytest.mark.parametrize(("blocks", "items"), [(2, 10), (1, 1)])
def test_a_design_that_does_not_fit_is_refused(blocks, items):
    with pytest.raises(ValueError, match="have 1 blocks"):
        simulated_pilot(PreferenceWorld(0.6), StudyDesign(blocks, items, 2, 10), systems=2, level="symmetric")


def test_pairs_have_the_better_system_first():
    assert system_pairs(3) == [(0, 1), (0, 2), (1, 2)]
