"""Orders compared in memory: the same raters, turns and votes, and nothing but the order different."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from analytics.statistics.planning.ordering_simulation import (
    MEASURES,
    RANDOM,
    Policy,
    ScorerNoise,
    SimulationSettings,
    VotesSoFar,
    priorities,
    rank_shares,
    simulated_curves,
)
from annotation.rating.rules.ordering import Ordering

SMALL = SimulationSettings(
    pairs=40, overlap=4, votes=150, step=15, raters=8, refresh=5, unseen=60, hearing=ScorerNoise(0.3, 2)
)


def by(weights: Ordering, *, uniform: float = 0.2, among: int = 4) -> Policy:
    def priority(known: VotesSoFar):
        return priorities(weights, margins=known.margins, first=known.first, second=known.second)

    return Policy(uniform, among, priority)


def test_a_policy_that_is_all_random_is_random_order() -> None:
    curves = simulated_curves(SMALL, {"random": RANDOM, "all": by(Ordering(), uniform=1.0)}, replicates=2)
    for measure in MEASURES:
        assert np.array_equal(curves["random"][measure], curves["all"][measure])


def test_the_same_seed_gives_the_same_curves() -> None:
    one, again, other = (
        simulated_curves(SMALL, {"it": by(Ordering())}, replicates=2, seed=seed)["it"]["both"]
        for seed in (1, 1, 2)
    )
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_more_votes_tell_more() -> None:
    curves = simulated_curves(SMALL, {"random": RANDOM}, replicates=8)["random"]
    for measure in MEASURES:
        mean = curves[measure].mean(axis=0)
        assert mean[0] == 0.5
        assert mean[0] < mean[3] < mean[-1]
    # Votes beside the model never tell less than the votes alone, where the model hears well.
    assert np.all(curves["both"].mean(axis=0)[1:] > curves["majority"].mean(axis=0)[1:])


def test_all_votes_are_given_and_no_pair_gets_more_than_it_takes() -> None:
    seen: list[np.ndarray] = []

    def watch(known: VotesSoFar):
        seen.append(known.first + known.second)
        return np.zeros(len(known.first))

    full = replace(SMALL, votes=SMALL.pairs * SMALL.overlap)
    simulated_curves(full, {"it": Policy(0.2, 4, watch)}, replicates=1)
    assert all(n.max() <= full.overlap for n in seen)
    assert seen[-1].sum() > full.votes - full.refresh - 1


def test_votes_go_to_the_first_by_priority() -> None:
    wanted = np.zeros(SMALL.pairs)
    wanted[[3, 8, 15, 16]] = 1.0
    seen: list[np.ndarray] = []

    def watch(known: VotesSoFar):
        seen.append((known.first + known.second).copy())
        return wanted

    short = replace(SMALL, votes=12, step=12)
    simulated_curves(short, {"it": Policy(0.0, 4, watch)}, replicates=1)
    assert seen[-1][[3, 8, 15, 16]].sum() == seen[-1].sum() == 10


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
