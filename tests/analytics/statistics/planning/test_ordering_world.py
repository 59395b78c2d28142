"""Simulated worlds: their votes are those of the demo's raters, their truth that of the demo's clips."""

from __future__ import annotations

import numpy as np
import pytest

from analytics.statistics.planning.ordering_simulation import ScorerNoise, draw_votes, draw_world
from annotation.demo.raters import RATERS, draw_rater, probability_of_first

CALM = ScorerNoise(deafness=0.0, distractions=0)


def test_the_same_seed_draws_the_same_world_and_another_another() -> None:
    one, again, other = (
        draw_world("musicality", ScorerNoise(), pairs=20, unseen=5, raters=3, seed=seed) for seed in (4, 4, 5)
    )
    assert np.array_equal(one.pairs.features, again.pairs.features)
    assert np.array_equal(one.first, again.first)
    assert not np.array_equal(one.pairs.differences, other.pairs.differences)


@pytest.mark.parametrize("question", ["musicality", "alignment"])
def test_a_scorer_that_hears_all_hears_the_truth(question) -> None:
    world = draw_world(question, CALM, pairs=60, unseen=60, raters=1, seed=1)
    costs, *_ = np.linalg.lstsq(world.pairs.features, world.pairs.differences, rcond=None)
    assert np.allclose(world.pairs.features @ costs, world.pairs.differences)
    assert np.allclose(world.unseen.features @ costs, world.unseen.differences)


def test_every_pair_has_a_better_side() -> None:
    world = draw_world("alignment", ScorerNoise(), pairs=80, unseen=20, raters=1, seed=2)
    assert np.all(np.abs(world.pairs.differences) > 0.05)


def test_distractions_and_deafness_are_of_the_size_asked_for() -> None:
    heard, misheard = (
        draw_world("musicality", hearing, pairs=400, unseen=1, raters=1, seed=3).pairs.features
        for hearing in (CALM, ScorerNoise(deafness=0.5, distractions=3))
    )
    assert misheard.shape[1] == heard.shape[1] + 3
    # Differences of two clips have twice the variance of one.
    assert np.std(misheard[:, :-3] - heard) == pytest.approx(0.5 * np.sqrt(2), rel=0.05)
    assert np.std(misheard[:, -3:]) == pytest.approx(np.sqrt(2), rel=0.06)


@pytest.mark.parametrize("rater", [RATERS[0], RATERS[5], draw_rater(4, seed=1)], ids=lambda rater: rater.name)
def test_votes_follow_the_rater_over_both_sides(rater) -> None:
    difference, n = 0.8, 20_000
    votes = draw_votes([rater], np.full(n, difference), rng=np.random.default_rng(1))
    habits = {
        "sensitivity": rater.sensitivity, "position_bias": rater.position_bias, "lapse": rater.lapse
    }  # fmt: skip
    as_first = probability_of_first(difference, **habits)
    as_second = 1 - probability_of_first(-difference, **habits)
    assert votes.mean() == pytest.approx((as_first + as_second) / 2, abs=4 * 0.5 / np.sqrt(n))
