"""Random order against an order by what a vote would teach: how much is known after how many votes.

A replicate draws a world and lets the same raters, in the same turns and with the same random numbers, work through it
in each order. The model is fitted anew after every `step` votes, priorities follow from it and from the votes so far,
as a study's do, and what is known by then is held against the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from analytics.statistics.distinct_rows import FloatArray, IntArray
from analytics.statistics.ordering_learner import fitted_weights, told_rightly, with_votes
from analytics.statistics.ordering_world import Hearing, Question, World, draw_world

# What is held against the truth: the model together with the votes on each pair; the majority of these votes alone; and
# the model alone, on pairs of which nobody was asked.
MEASURES = ("both", "majority", "unseen")


@dataclass(frozen=True, eq=False)
class Known:
    """What a priority is made of: the model's margins, and the votes for either side, of each pair; all (n,)."""

    margins: FloatArray
    first: IntArray
    second: IntArray


Priority = Callable[[Known], FloatArray]


@dataclass(frozen=True)
class Policy:
    """uniform: the share of votes that go to any open pair. among: from how many of the first the others are drawn.
    priority: None for an order that is all random."""

    uniform: float
    among: int
    priority: Priority | None


RANDOM = Policy(uniform=1.0, among=1, priority=None)


@dataclass(frozen=True)
class Setting:
    """What is simulated. overlap: the most votes a pair takes. step: votes between two fits of the
    model. refresh: votes between two reckonings of the priorities."""

    question: Question = "musicality"
    pairs: int = 300
    overlap: int = 5
    votes: int = 900
    step: int = 30
    refresh: int = 10
    raters: int = 30
    hearing: Hearing = field(default_factory=Hearing)
    unseen: int = 400

    def __post_init__(self) -> None:
        if min(self.pairs, self.overlap, self.votes, self.step, self.refresh, self.raters, self.unseen) < 1:
            raise ValueError("Pairs, overlap, votes, step, refresh and raters are 1 or more.")
        if self.overlap > self.raters:
            raise ValueError(f"{self.raters} raters cannot give a pair {self.overlap} votes.")
        if self.votes > (most := self.pairs * self.overlap):
            raise ValueError(
                f"{self.pairs} pairs with an overlap of {self.overlap} take {most} votes at most."
            )
        if self.hearing.deafness < 0 or self.hearing.distractions < 0:
            raise ValueError("What a scorer mishears, and hears beside, is 0 or more.")

    @property
    def moments(self) -> IntArray:
        """After how many votes it is looked at what is known."""
        return np.unique(np.append(np.arange(0, self.votes, self.step), self.votes))


# By order, by measure: (replicates, moments) shares of pairs told rightly.
Curves = Mapping[str, Mapping[str, FloatArray]]


def simulated_curves(
    setting: Setting,
    policies: Mapping[str, Policy],
    *,
    replicates: int,
    seed: int = 1,
    progress: Callable[[int], None] = lambda done: None,
) -> Curves:
    found: dict[str, list[FloatArray]] = {name: [] for name in policies}
    for replicate in range(replicates):
        world = _world(setting, seed=seed * 10_000 + replicate)
        for name, policy in policies.items():
            rng = np.random.default_rng([seed, replicate])
            found[name].append(np.array(list(_accuracies(setting, world, policy, rng))))
        progress(replicate + 1)
    stacked = {name: np.stack(runs) for name, runs in found.items()}
    return {name: {m: runs[:, :, k] for k, m in enumerate(MEASURES)} for name, runs in stacked.items()}


def _world(setting: Setting, *, seed: int) -> World:
    return draw_world(
        setting.question, setting.hearing, pairs=setting.pairs, unseen=setting.unseen, raters=setting.raters,
        seed=seed,
    )  # fmt: skip


def _accuracies(
    setting: Setting, world: World, policy: Policy, rng: np.random.Generator
) -> Iterator[tuple[float, ...]]:
    """The shares of MEASURES at each moment."""
    work = _Work(setting, world, rng)
    weights = np.zeros(world.pairs.features.shape[1])
    for moment in setting.moments:
        work.go_on(until=int(moment), policy=policy, margins=world.pairs.features @ weights)
        first, second = work.first, work.n - work.first
        weights = fitted_weights(world.pairs.features, first, second, start=weights)
        yield _measured(world, Known(world.pairs.features @ weights, first, second), weights)


def _measured(world: World, known: Known, weights: FloatArray) -> tuple[float, ...]:
    truth = world.pairs.differences
    return (
        told_rightly(with_votes(known.margins, known.first, known.second), truth),
        told_rightly(np.asarray(known.first - known.second, dtype=np.float64), truth),
        told_rightly(world.unseen.features @ weights, world.unseen.differences),
    )


class _Work:
    """Raters who take turns, and the votes they have given: of each pair, how many (`n`) and how many for the first."""

    def __init__(self, setting: Setting, world: World, rng: np.random.Generator) -> None:
        n = len(world.pairs)
        self._world, self._overlap, self._refresh = world, setting.overlap, setting.refresh
        self.n, self.first = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self._met = np.zeros((setting.raters, n), dtype=bool)
        self._given = 0
        # Drawn for all turns at once, so that they do not depend on the policy: who comes, the kind of the draw and the
        # place in it. Some more than votes: whoever finds nothing open loses a turn.
        turns = setting.votes + 20 * setting.raters
        rounds = -(-turns // setting.raters)
        who = rng.permuted(np.tile(np.arange(setting.raters), (rounds, 1)), axis=1).ravel()
        self._turns = iter(zip(who.tolist(), rng.random((rounds * setting.raters, 2)).tolist(), strict=True))
        self._shuffled = rng.random(n)  # equals in priority come in an order that means nothing

    def go_on(self, *, until: int, policy: Policy, margins: FloatArray) -> None:
        """Votes until there are so many. The model's margins stay as they are, priorities follow the votes."""
        order = None
        while self._given < until:
            turn = next(self._turns, None)
            if turn is None:  # nobody finds anything open any more
                return
            if policy.priority is not None and (order is None or self._given % self._refresh == 0):
                order = self._first_to_last(policy.priority, margins)
            rater, (kind, place) = turn
            if order is None or kind < policy.uniform:
                within = self._open(rater, np.arange(len(self.n)))
            else:
                within = self._open(rater, order)[: policy.among]
            if len(within):
                self._vote(rater, int(within[int(place * len(within))]))

    def _first_to_last(self, priority: Priority, margins: FloatArray) -> IntArray:
        known = Known(margins, self.first, self.n - self.first)
        return np.lexsort((self._shuffled, -priority(known)))

    def _open(self, rater: int, order: IntArray) -> IntArray:
        return np.asarray(order[~self._met[rater, order] & (self.n[order] < self._overlap)])

    def _vote(self, rater: int, pair: int) -> None:
        self._met[rater, pair] = True
        self.n[pair] += 1
        self.first[pair] += self._world.first[rater, pair]
        self._given += 1
