"""Votes saved by an ordering policy, simulated: worlds, the reward model, orders, savings, the verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from django.utils import timezone
from scipy.optimize import isotonic_regression, minimize, minimize_scalar

from annotation.demo.raters import RATERS, draw_rater, probability_of_first
from annotation.rating import task_selection
from annotation.rating.rules.ordering import Ordering
from benchmarks.order_savings import (
    MEASURES,
    PAIR_SD,
    RANDOM,
    WEIGHT_SD,
    OrderingComparison,
    Policy,
    ScorerNoise,
    SimulatedWorld,
    SimulationSettings,
    VoteSaving,
    VotesSoFar,
    comparison_lines,
    comparison_verdict,
    draw_votes,
    draw_world,
    fitted_weights,
    monotone,
    posterior_margins,
    priorities,
    rank_shares,
    share_correct,
    simulated_curves,
    vote_saving,
)
from scoring.models import Score, Scorer, ScoringRun
from scoring.policies import priorities as stored_priorities
from tests import factories
from tests.analytics.votes import vote

# Simulated worlds: their votes are those of the demo's raters, their truth that of the demo's clips.

CALM = ScorerNoise(deafness=0.0, distractions=0)


def world(question: Any = "musicality", hearing: ScorerNoise = CALM, **sizes: int) -> SimulatedWorld:
    return draw_world(question, hearing, **{"pairs": 60, "unseen": 60, "raters": 1, "seed": 1, **sizes})


def test_the_same_seed_draws_the_same_world_and_another_another() -> None:
    one, again, other = (world(hearing=ScorerNoise(), raters=3, seed=seed) for seed in (4, 4, 5))
    assert np.array_equal(one.pairs.features, again.pairs.features)
    assert np.array_equal(one.first, again.first)
    assert not np.array_equal(one.pairs.differences, other.pairs.differences)


@pytest.mark.parametrize("question", ["musicality", "alignment"])
def test_a_scorer_that_hears_all_hears_the_truth(question) -> None:
    drawn = world(question)
    costs, *_ = np.linalg.lstsq(drawn.pairs.features, drawn.pairs.differences, rcond=None)
    for pairs in (drawn.pairs, drawn.unseen):
        assert np.allclose(pairs.features @ costs, pairs.differences)
        assert np.all(np.abs(pairs.differences) > 0.04)  # every pair has a better side


def test_distractions_and_deafness_are_of_the_size_asked_for() -> None:
    noises = (CALM, ScorerNoise(deafness=0.5, distractions=3))
    heard, misheard = (world(hearing=noise, pairs=400, unseen=1, seed=3).pairs.features for noise in noises)
    assert misheard.shape[1] == heard.shape[1] + 3
    # Differences of two clips have twice the variance of one.
    assert np.std(misheard[:, :-3] - heard) == pytest.approx(0.5 * np.sqrt(2), rel=0.05)
    assert np.std(misheard[:, -3:]) == pytest.approx(np.sqrt(2), rel=0.06)


@pytest.mark.parametrize("rater", [RATERS[0], RATERS[5], draw_rater(4, seed=1)], ids=lambda rater: rater.name)
def test_votes_follow_the_rater_over_both_sides(rater) -> None:
    difference, n = 0.8, 20_000
    votes = draw_votes([rater], np.full(n, difference), rng=np.random.default_rng(1))
    habits = {name: getattr(rater, name) for name in ("sensitivity", "position_bias", "lapse")}
    as_first = probability_of_first(difference, **habits)
    as_second = 1 - probability_of_first(-difference, **habits)
    assert votes.mean() == pytest.approx((as_first + as_second) / 2, abs=4 * 0.5 / np.sqrt(n))


# The reward model, against scipy's minimiser.


@pytest.mark.parametrize(("n", "k"), [(8, 30), (40, 30), (200, 5)])
def test_weights_are_the_most_probable_ones_wherever_the_search_begins(n: int, k: int) -> None:
    rng = np.random.default_rng(n)
    features = rng.normal(0, 1.5, (n, k))
    first, second = rng.integers(0, 3, n), rng.integers(0, 3, n)

    def loss(weights):
        logits = features @ weights
        unlikely = first @ np.logaddexp(0, -logits) + second @ np.logaddexp(0, logits)
        return unlikely + weights @ weights / (2 * WEIGHT_SD**2)

    wanted = minimize(loss, np.zeros(k), tol=1e-10).x
    for start in (np.zeros(k), rng.normal(0, 5, k)):
        assert fitted_weights(features, first, second, start=start) == pytest.approx(wanted, abs=1e-4)


def test_without_votes_nothing_is_learned() -> None:
    none = np.zeros(3, dtype=np.int64)
    assert fitted_weights(np.ones((3, 2)), none, none, start=np.zeros(2)).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("margin", "first", "second"), [(0.3, 0, 4), (-2.0, 9, 1), (1.0, 0, 0), (0.0, 40, 0)]
)
def test_a_pair_s_votes_move_what_the_model_says_of_it(margin: float, first: int, second: int) -> None:
    def loss(x: float) -> float:
        unlikely = first * np.logaddexp(0, -x) + second * np.logaddexp(0, x)
        return float(unlikely + (x - margin) ** 2 / (2 * PAIR_SD**2))

    found = posterior_margins(np.array([margin]), np.array([first]), np.array([second]))
    assert found[0] == pytest.approx(minimize_scalar(loss).x, abs=1e-5)


def test_what_says_nothing_is_half_right() -> None:
    assert share_correct(np.array([1.0, -1.0, 0.0, 2.0]), np.array([1.0, 1.0, 1.0, 3.0])) == 0.625


# Orders compared: the same raters, turns and votes, and nothing but the order different.

SMALL = SimulationSettings(
    pairs=40, overlap=4, votes=150, step=15, raters=8, refresh=5, unseen=60, hearing=ScorerNoise(0.3, 2)
)


def by(weights: Ordering, *, uniform: float = 0.2, among: int = 4) -> Policy:
    def priority(known: VotesSoFar):
        return priorities(weights, margins=known.margins, first=known.first, second=known.second)

    return Policy(uniform, among, priority)


def test_the_same_seed_gives_the_same_curves_and_a_policy_that_is_all_random_is_random_order() -> None:
    policies = {"random": RANDOM, "all": by(Ordering(), uniform=1.0), "it": by(Ordering())}
    one, again, other = (simulated_curves(SMALL, policies, replicates=2, seed=seed) for seed in (1, 1, 2))
    for measure in MEASURES:
        assert np.array_equal(one["random"][measure], one["all"][measure])
    assert np.array_equal(one["it"]["both"], again["it"]["both"])
    assert not np.array_equal(one["it"]["both"], other["it"]["both"])


def test_more_votes_tell_more() -> None:
    curves = simulated_curves(SMALL, {"random": RANDOM}, replicates=8)["random"]
    for measure in MEASURES:
        mean = curves[measure].mean(axis=0)
        assert mean[0] == 0.5
        assert mean[0] < mean[3] < mean[-1]
    # Votes beside the model never tell less than the votes alone, where the model hears well.
    assert np.all(curves["both"].mean(axis=0)[1:] > curves["majority"].mean(axis=0)[1:])


def votes_seen(setting: SimulationSettings, priority: np.ndarray, *, uniform: float) -> list[np.ndarray]:
    """How many votes each pair has whenever a policy of constant priorities is asked."""
    seen: list[np.ndarray] = []

    def watch(known: VotesSoFar) -> np.ndarray:
        seen.append(known.first + known.second)
        return priority

    simulated_curves(setting, {"it": Policy(uniform, 4, watch)}, replicates=1)
    return seen


def test_all_votes_are_given_and_no_pair_gets_more_than_it_takes() -> None:
    full = replace(SMALL, votes=SMALL.pairs * SMALL.overlap)
    seen = votes_seen(full, np.zeros(SMALL.pairs), uniform=0.2)
    assert all(n.max() <= full.overlap for n in seen)
    assert seen[-1].sum() > full.votes - full.refresh - 1


def test_votes_go_to_the_first_by_priority() -> None:
    first = [3, 8, 15, 16]
    seen = votes_seen(
        replace(SMALL, votes=12, step=12), np.isin(np.arange(SMALL.pairs), first) * 1.0, uniform=0.0
    )
    assert seen[-1][first].sum() == seen[-1].sum() == 10


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"votes": 161}, "take 160 votes at most"),
        ({"overlap": 9}, "8 raters cannot give a pair 9 votes"),
        ({"pairs": 0}, "1 or more"),
        ({"hearing": ScorerNoise(-1.0)}, "0 or more"),
    ],
)
def test_what_cannot_be_is_refused(change, message) -> None:
    with pytest.raises(ValueError, match=message):
        replace(SMALL, **change)


def test_ranks_are_the_share_of_the_others_that_are_smaller() -> None:
    assert rank_shares(np.array([3.0, 1.0, 3.0, 7.0])).tolist() == pytest.approx([1 / 3, 0, 1 / 3, 1])
    assert rank_shares(np.array([5.0])).tolist() == [0]


def test_a_priority_is_a_weighted_mean_of_three_parts() -> None:
    weights = Ordering(uncertainty=1.0, disagreement=2.0, coverage=1.0)
    margins = np.array([0.0, 2.0, -1.0])
    first, second = np.array([0, 0, 2]), np.array([0, 1, 0])
    # Apart: 1/3 of 0.8808 for the second, 2/4 of 0.7311 for the third, nothing for the first.
    wanted = [(1 + 0 + 1) / 4, (0 + 0 + 1 / 2) / 4, (1 / 2 + 2 + 1 / 3) / 4]
    assert priorities(weights, margins=margins, first=first, second=second) == pytest.approx(
        wanted, abs=5.1e-3
    )


# Votes saved at equal accuracy, against curves whose answer is plain.

MOMENTS = np.arange(0.0, 101.0, 10.0)
RISING = 0.5 + 0.4 * MOMENTS / 100


def runs(curve, *, n: int = 40, noise: float = 0.01, seed: int = 1):
    return np.asarray(curve) + np.random.default_rng(seed).normal(0, noise, (n, len(MOMENTS)))


def test_curves_are_made_monotone_as_scipy_does() -> None:
    curves = np.random.default_rng(3).random((20, 15))
    wanted = [isotonic_regression(curve).x for curve in curves]
    assert np.allclose(monotone(curves), wanted)


def test_an_order_that_is_twice_as_fast_saves_half() -> None:
    fast = np.minimum(0.5 + 0.8 * MOMENTS / 100, 0.9)
    found = vote_saving(runs(RISING), runs(fast, seed=2), MOMENTS, accuracy=0.7)
    assert found.reference_votes == pytest.approx(50, abs=2)
    assert found.votes == pytest.approx(25, abs=2)
    assert found.interval is not None
    assert found.interval[0] < 0.5 < found.interval[1]
    assert found.interval[0] > 0.4


def test_an_order_that_is_slower_saves_less_than_nothing() -> None:
    slow = 0.5 + 0.3 * MOMENTS / 100
    found = vote_saving(runs(RISING), runs(slow, seed=2), MOMENTS, accuracy=0.65)
    assert found.saved == pytest.approx(1 - 50 / 37.5, abs=0.1)
    assert found.interval is not None
    assert found.interval[1] < 0


def test_equal_orders_save_nothing_in_nineteen_of_twenty_intervals() -> None:
    covered = 0
    for seed in range(20):
        one, other = (runs(RISING, noise=0.05, seed=2 * seed + k) for k in (0, 1))
        found = vote_saving(one, other, MOMENTS, accuracy=0.7)
        assert found.interval is not None
        covered += found.interval[0] <= 0 <= found.interval[1]
    assert covered >= 16  # of 20 at 95 %, fewer than this has a chance below one in a hundred


def test_identical_runs_save_exactly_nothing_and_two_replicates_have_no_interval() -> None:
    found = vote_saving(runs(RISING), runs(RISING), MOMENTS, accuracy=0.7)
    assert (found.saved, found.interval) == (0, (0, 0))
    found = vote_saving(runs(RISING, n=2), runs(RISING, n=2, seed=2), MOMENTS, accuracy=0.7)
    assert found.saved is not None
    assert (found.interval, found.reason) == (None, "few_replicates")


@pytest.mark.parametrize(
    ("accuracy", "other", "reason"),
    [(0.95, RISING, "reference_not_reached"), (0.8, 0.5 + 0 * MOMENTS, "not_reached")],
)
def test_what_is_not_reached_has_a_reason_and_no_figure(accuracy, other, reason) -> None:
    found = vote_saving(runs(RISING), runs(other, seed=2), MOMENTS, accuracy=accuracy)
    assert (found.saved, found.interval, found.reason) == (None, None, reason)


# What a comparison says.

MIDDLE = VoteSaving(0.8, 400.0, 300.0, 0.25, (0.1, 0.4), None)


def comparison(middle: VoteSaving) -> OrderingComparison:
    rows = [replace(MIDDLE, accuracy=0.7), middle, replace(MIDDLE, accuracy=0.9)]
    return OrderingComparison(
        SimulationSettings(), Ordering(), replicates=5, seed=1, moments=[0], random={}, policy={},
        savings=dict.fromkeys(MEASURES, rows),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (MIDDLE, "saves votes (share of votes saved 25.0 %, 95 % interval 10.0 % to 40.0 %)."),
        (replace(MIDDLE, saved=-0.2, interval=(-0.3, -0.1)), "saves none, it costs more"),
        (replace(MIDDLE, saved=0.02, interval=(-0.1, 0.1)), "saves none that could be told from chance"),
        (replace(MIDDLE, saved=None, interval=None, reason="not_reached"), "did not reach this accuracy"),
    ],
)
def test_the_verdict_follows_the_interval(found: VoteSaving, said: str) -> None:
    assert said in comparison_verdict(comparison(found))
    assert "At 80.0 % of pairs told rightly" in comparison_verdict(comparison(found))


def test_the_table_has_a_row_for_each_measure_and_accuracy_and_ends_with_the_verdict() -> None:
    text = list(comparison_lines(comparison(MIDDLE)))
    assert len(text) == 2 + 3 * 3 + 1
    assert text[-1] == comparison_verdict(comparison(MIDDLE))


# The simulation's priorities are those that a study reckons in its database.


@pytest.mark.django_db
def test_both_ways_of_reckoning_agree() -> None:
    rng = np.random.default_rng(5)
    study = factories.StudyFactory.create(preset="cmi-pref", overlap=9)
    tasks = [factories.comparison_task(study, f"task-{n}") for n in range(10)]
    scorer = Scorer.objects.create(key="cmi-rm", digest="d" * 64)
    run = {"metric": "cmi-rm", "state": "done", "finished_at": timezone.now()}
    ScoringRun.objects.create(study=study, scorer=scorer, **run)
    margins = np.append(rng.normal(0, 1.5, 9), 0.0)
    first, second = rng.integers(0, 4, (2, 10))
    first[2] = second[2] = 0
    for task, margin, wins, losses in zip(tasks, margins, first, second, strict=True):
        for slot, value in zip(task.slots.order_by("slot"), (margin, 0.0), strict=True):
            candidate = {"candidate_id": slot.candidate_id, "output": "alignment"}
            Score.objects.create(scorer=scorer, value=value, **candidate)
        for choice in [1] * wins + [2] * losses:
            vote(task, question="alignment", choice=choice)
    weights = Ordering(uncertainty=0.5, disagreement=0.3, coverage=0.9)
    named = {name: getattr(weights, name) for name in ("uncertainty", "disagreement", "coverage")}
    stored_priorities.refresh(task_selection.set_ordering(study, actor=None, scorer=scorer.digest, **named))
    found = dict(study.tasks.values_list("external_id", "priority"))
    wanted = priorities(weights, margins=margins, first=first, second=second)
    # Rounding to hundredths may fall either way.
    assert [found[f"task-{n}"] for n in range(10)] == pytest.approx(wanted.tolist(), abs=1.01e-2)
