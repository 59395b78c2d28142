"""Votes saved by an ordering policy (active learning) against random order, simulated on the demo's truth.

    python -m benchmarks.order_savings [--replicates 100]
    manage.py simulate --compare-ordering      the same, with all settings

A replicate draws a world and lets the same raters, in the same turns and with the same random numbers, work through it
in each order. The model is fitted anew after every `step` votes, priorities follow from it and from the votes so far,
as a study's do, and what is known by then is held against the truth.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from analytics.reports.document import Column, Measured, Table
from analytics.reports.render.text import table_lines
from analytics.statistics.arrays import BoolArray, FloatArray, IntArray
from analytics.statistics.bootstrap import percentile_interval
from analytics.statistics.judges.logistic_regression import probability, ridge_logistic
from annotation.demo import clips
from annotation.demo.clips import SYSTEMS, Outcome, draw_outcome, load_prompts
from annotation.demo.raters import Rater, draw_rater
from annotation.rating.rules.ordering import Ordering
from benchmarks import harness

# Pairs of known truth, what a scorer hears of them, and what every simulated rater would say of each. All
# votes are drawn beforehand, one for each rater and pair. Orders that are compared on one world so differ
# in nothing but which of these votes they ask for (common random numbers: Law, "Simulation Modeling and
# Analysis", section 11.2).


Question = Literal["musicality", "alignment"]

# Seeds of worlds lie far from the demo's, whose clips people may know.
_WORLD_SEED = 7_000


@dataclass(frozen=True, eq=False)
class SimulatedPairs:
    """differences: (n,) of the truth in log-odds, positive where the first is better, never 0. features: (n, k) what a
    scorer hears, the first clip's less the second's."""

    differences: FloatArray
    features: FloatArray

    def __len__(self) -> int:
        return len(self.differences)


@dataclass(frozen=True, eq=False)
class SimulatedWorld:
    """pairs: those of the study. unseen: others, of which nobody is asked. first: (raters, pairs) whether a rater
    prefers the first clip, whatever side it is shown on."""

    pairs: SimulatedPairs
    unseen: SimulatedPairs
    first: BoolArray


@dataclass(frozen=True)
class ScorerNoise:
    """How a scorer hears a clip. deafness: the standard deviation of what it mishears of each flaw, whose strength is
    0, 0.5 or 1 (a failure's 0 or 1). distractions: how many other things it hears, of unit variance, that mean nothing.
    """

    deafness: float = 0.5
    distractions: int = 20


def draw_world(
    question: Question, hearing: ScorerNoise, *, pairs: int, unseen: int, raters: int, seed: int
) -> SimulatedWorld:
    """A world of the demo's prompts and systems with clips of its own."""
    rng = np.random.default_rng([_WORLD_SEED, seed])
    drawn = _draw_pairs(question, hearing, pairs + unseen, seed=seed, rng=rng)
    study, rest = (
        SimulatedPairs(drawn.differences[part], drawn.features[part])
        for part in (slice(pairs), slice(pairs, None))
    )
    cast = [draw_rater(number, seed=_WORLD_SEED + seed) for number in range(1, raters + 1)]
    return SimulatedWorld(study, rest, draw_votes(cast, study.differences, rng=rng))


def draw_votes(cast: Sequence[Rater], differences: FloatArray, *, rng: np.random.Generator) -> BoolArray:
    """(raters, pairs) as `annotation.demo.raters.choose` votes, with the sides of each showing drawn by a coin."""
    shape = len(cast), len(differences)
    sensitivity, bias, lapse = (
        np.array([[getattr(rater, name)] for rater in cast])
        for name in ("sensitivity", "position_bias", "lapse")
    )
    side = np.where(rng.random(shape) < 0.5, 1, -1)
    lapsed = rng.random(shape) < lapse
    margin = np.where(lapsed, 0.0, sensitivity * differences * side) + bias + rng.logistic(size=shape)
    return np.asarray((margin > 0) == (side > 0))


def _draw_pairs(
    question: Question, hearing: ScorerNoise, n: int, *, seed: int, rng: np.random.Generator
) -> SimulatedPairs:
    """Two systems' answers to one prompt, drawn anew for each pair; those without a better side are left out."""
    prompts, draw = load_prompts(), 0
    differences: list[float] = []
    features: list[FloatArray] = []
    while len(differences) < n:
        draw += 1
        prompt = prompts[int(rng.integers(len(prompts)))]
        two = rng.choice(len(SYSTEMS), size=2, replace=False)
        first, second = (
            draw_outcome(prompt, SYSTEMS[int(k)], seed=(_WORLD_SEED + seed) * 1_000_000 + draw) for k in two
        )
        difference = getattr(first, question) - getattr(second, question)
        if abs(difference) < 1e-9:
            continue
        differences.append(difference)
        features.append(_strengths(first, question) - _strengths(second, question))
    signal = np.array(features)
    # Of either clip, so of a difference with twice the variance.
    misheard = rng.normal(0, hearing.deafness * np.sqrt(2), signal.shape)
    distractors = rng.normal(0, np.sqrt(2), (n, hearing.distractions))
    return SimulatedPairs(np.array(differences), np.hstack([signal + misheard, distractors]))


def _strengths(outcome: Outcome, question: Question) -> FloatArray:
    if question == "musicality":
        strengths = {flaw.kind: flaw.strength for flaw in outcome.flaws}
        return np.array([strengths.get(kind, 0.0) for kind in clips.FLAW_COSTS])
    return np.array([float(kind in outcome.failures) for kind in clips.FAILURE_COSTS])


# A reward model that learns from votes as they come, and what model and votes say together. It stands in
# for a scorer: fast enough to be fitted anew after every few votes, and right only as far as what it hears
# is. A pair's log-odds of being won by its first clip are a weighted sum of features (Bradley & Terry 1952,
# with explanatory variables as in Springall 1973).


# Standard deviations of what is taken for granted before any vote: of a weight, and of a pair around what the model
# says of it. In log-odds.
WEIGHT_SD = 1.5
PAIR_SD = 1.0
_HALVINGS = 40


def fitted_weights(
    features: FloatArray, first: IntArray, second: IntArray, *, start: FloatArray
) -> FloatArray:
    """(k,) the most probable weights after so many votes for the first and the second of each of n pairs."""
    n = first + second
    voted = n > 0
    return ridge_logistic(
        features[voted],
        first[voted] / n[voted],
        ridge=np.full(len(start), 1 / WEIGHT_SD**2),
        weights=n[voted].astype(np.float64),
        start=start,
    )


def posterior_margins(margins: FloatArray, first: IntArray, second: IntArray) -> FloatArray:
    """(n,) the most probable log-odds of each pair: the model's margin, moved by the pair's own votes."""
    n = first + second
    # The slope falls all along, and each of n votes moves the pair by a prior variance at most: so halve the interval.
    low, high = margins - n * PAIR_SD**2, margins + n * PAIR_SD**2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        rising = first - n * probability(middle) > (middle - margins) / PAIR_SD**2
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return np.asarray((low + high) / 2)


def share_correct(predicted: FloatArray, truth: FloatArray) -> float:
    """The share of pairs whose better side is told; half of those of which nothing is said."""
    return float(np.mean(np.where(predicted == 0, 0.5, np.sign(predicted) == np.sign(truth))))


# What a vote on each pair would teach, as studies reckon it (`scoring.policies.priorities`, in SQL there).


# As if a model had so many votes of its own.
_MODEL_VOTES = 2
_DECIMALS = 2


def priorities(weights: Ordering, *, margins: FloatArray, first: IntArray, second: IntArray) -> FloatArray:
    """(n,) from 0 to 1, of each pair's margin in log-odds and its votes for either side."""
    n = first + second
    voted = n > 0
    share = first / np.maximum(n, 1)
    predicted = probability(np.clip(margins, -30, 30))
    disagreement = np.zeros(len(margins))
    disagreement[voted] = rank_shares((n / (n + _MODEL_VOTES) * np.abs(share - predicted))[voted])
    total = weights.uncertainty + weights.disagreement + weights.coverage
    weighed = (
        weights.uncertainty * rank_shares(-np.abs(margins))
        + weights.disagreement * disagreement
        + weights.coverage / (1.0 + n)
    )
    return np.asarray(np.round(weighed / total, _DECIMALS))


def rank_shares(values: FloatArray) -> FloatArray:
    """(n,) the share of the other values that are smaller."""
    if len(values) < 2:
        return np.zeros(len(values))
    return np.asarray(np.searchsorted(np.sort(values), values, side="left") / (len(values) - 1))


# What is held against the truth: the model together with the votes on each pair; the majority of these votes alone; and
# the model alone, on pairs of which nobody was asked.
MEASURES = ("both", "majority", "unseen")


@dataclass(frozen=True, eq=False)
class VotesSoFar:
    """What a priority is made of: the model's margins, and the votes for either side, of each pair; all (n,)."""

    margins: FloatArray
    first: IntArray
    second: IntArray


Priority = Callable[[VotesSoFar], FloatArray]


@dataclass(frozen=True)
class Policy:
    """uniform: the share of votes that go to any open pair. among: from how many of the first the others are drawn.
    priority: None for an order that is all random."""

    uniform: float
    among: int
    priority: Priority | None


RANDOM = Policy(uniform=1.0, among=1, priority=None)


@dataclass(frozen=True)
class SimulationSettings:
    """What is simulated. overlap: the most votes a pair takes. step: votes between two fits of the
    model. refresh: votes between two reckonings of the priorities."""

    question: Question = "musicality"
    pairs: int = 300
    overlap: int = 5
    votes: int = 900
    step: int = 30
    refresh: int = 10
    raters: int = 30
    hearing: ScorerNoise = field(default_factory=ScorerNoise)
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
    setting: SimulationSettings,
    policies: Mapping[str, Policy],
    *,
    replicates: int,
    seed: int = 1,
    progress: Callable[[int], None] = lambda done: None,
) -> Curves:
    runs_by_policy: dict[str, list[FloatArray]] = {name: [] for name in policies}
    for replicate in range(replicates):
        world = draw_world(
            setting.question, setting.hearing, pairs=setting.pairs, unseen=setting.unseen, raters=setting.raters,
            seed=seed * 10_000 + replicate,
        )  # fmt: skip
        for name, policy in policies.items():
            rng = np.random.default_rng([seed, replicate])
            runs_by_policy[name].append(np.array(list(_accuracies(setting, world, policy, rng))))
        progress(replicate + 1)
    stacked = {name: np.stack(runs) for name, runs in runs_by_policy.items()}
    return {name: {m: runs[:, :, k] for k, m in enumerate(MEASURES)} for name, runs in stacked.items()}


def _accuracies(
    setting: SimulationSettings, world: SimulatedWorld, policy: Policy, rng: np.random.Generator
) -> Iterator[tuple[float, ...]]:
    """The shares of MEASURES at each moment."""
    work = _SimulatedStudy(setting, world, rng)
    weights = np.zeros(world.pairs.features.shape[1])
    for moment in setting.moments:
        work.run_until(until=int(moment), policy=policy, margins=world.pairs.features @ weights)
        first, second = work.first, work.n - work.first
        weights = fitted_weights(world.pairs.features, first, second, start=weights)
        yield _measured(world, VotesSoFar(world.pairs.features @ weights, first, second), weights)


def _measured(world: SimulatedWorld, known: VotesSoFar, weights: FloatArray) -> tuple[float, ...]:
    truth = world.pairs.differences
    return (
        share_correct(posterior_margins(known.margins, known.first, known.second), truth),
        share_correct(np.asarray(known.first - known.second, dtype=np.float64), truth),
        share_correct(world.unseen.features @ weights, world.unseen.differences),
    )


class _SimulatedStudy:
    """Raters who take turns, and the votes they have given: of each pair, how many (`n`) and how many for the first."""

    def __init__(self, setting: SimulationSettings, world: SimulatedWorld, rng: np.random.Generator) -> None:
        n = len(world.pairs)
        self._world, self._overlap, self._refresh = world, setting.overlap, setting.refresh
        self.n, self.first = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self._met = np.zeros((setting.raters, n), dtype=bool)
        self._n_votes = 0
        # Drawn for all turns at once, so that they do not depend on the policy: who comes, the kind of the draw and the
        # place in it. Some more than votes: whoever finds nothing open loses a turn.
        turns = setting.votes + 20 * setting.raters
        rounds = -(-turns // setting.raters)
        who = rng.permuted(np.tile(np.arange(setting.raters), (rounds, 1)), axis=1).ravel()
        self._turns = iter(zip(who.tolist(), rng.random((rounds * setting.raters, 2)).tolist(), strict=True))
        self._shuffled = rng.random(n)  # equals in priority come in an order that means nothing

    def run_until(self, *, until: int, policy: Policy, margins: FloatArray) -> None:
        """Votes until there are so many. The model's margins stay as they are, priorities follow the votes."""
        order = None
        while self._n_votes < until:
            turn = next(self._turns, None)
            if turn is None:  # nobody finds anything open any more
                return
            if policy.priority is not None and (order is None or self._n_votes % self._refresh == 0):
                order = self._first_to_last(policy.priority, margins)
            rater, (kind, place) = turn
            if order is None or kind < policy.uniform:
                within = self._open(rater, np.arange(len(self.n)))
            else:
                within = self._open(rater, order)[: policy.among]
            if len(within):
                self._vote(rater, int(within[int(place * len(within))]))

    def _first_to_last(self, priority: Priority, margins: FloatArray) -> IntArray:
        known = VotesSoFar(margins, self.first, self.n - self.first)
        return np.lexsort((self._shuffled, -priority(known)))

    def _open(self, rater: int, order: IntArray) -> IntArray:
        return np.asarray(order[~self._met[rater, order] & (self.n[order] < self._overlap)])

    def _vote(self, rater: int, pair: int) -> None:
        self._met[rater, pair] = True
        self.n[pair] += 1
        self.first[pair] += self._world.first[rater, pair]
        self._n_votes += 1


# How many votes one order saves against another at equal accuracy, with an interval. Curves of accuracy
# against votes are averaged over replicates and made monotone (isotonic regression: Robertson, Wright &
# Dykstra 1988); the votes for an accuracy are where that curve first reaches it, between two moments in
# proportion. The interval is the percentile bootstrap's over whole replicates, both orders' runs of one
# replicate together.


INTERVAL_LEVEL = 0.95
RESAMPLES = 1000

SENTENCES = {
    "few_replicates": "An interval takes three replicates or more.",
    "not_reached": "The order did not reach this accuracy with the votes simulated.",
    "reference_not_reached": "Random order did not reach this accuracy with the votes simulated.",
    "mostly_not_reached": "In most resamples of the replicates one of the orders did not reach this accuracy.",
}


@dataclass(frozen=True)
class VoteSaving:
    """At one accuracy: votes that random order needs, that the order needs, and the share of votes that it saves
    (negative where it needs more), with its interval. reason: a code of SENTENCES where something is None."""

    accuracy: float
    reference_votes: float | None
    votes: float | None
    saved: float | None
    interval: tuple[float, float] | None
    reason: str | None


def vote_saving(
    reference: FloatArray, other: FloatArray, moments: FloatArray, *, accuracy: float, seed: int = 1
) -> VoteSaving:
    """reference, other: (replicates, moments) accuracies of the two orders, replicate by replicate on one world."""
    whole = np.ones((1, len(reference)))
    before, after = (float(_votes_needed(each, moments, whole, accuracy)[0]) for each in (reference, other))
    if not before > 0:  # NaN is not
        return VoteSaving(accuracy, None, _or_none(after), None, None, "reference_not_reached")
    if np.isnan(after):
        return VoteSaving(accuracy, before, None, None, None, "not_reached")
    interval, reason = _saving_interval(reference, other, moments, accuracy=accuracy, seed=seed)
    return VoteSaving(accuracy, before, after, 1 - after / before, interval, reason)


def _or_none(votes: float) -> float | None:
    return None if np.isnan(votes) else votes


def monotone(curves: FloatArray) -> FloatArray:
    """(b, moments) the nearest curves that never fall (isotonic regression)."""
    from scipy.optimize import isotonic_regression  # takes a second to load

    return np.stack([isotonic_regression(curve).x for curve in curves])


def _votes_needed(runs: FloatArray, moments: FloatArray, weights: FloatArray, accuracy: float) -> FloatArray:
    """(b,) for each row of `weights` over replicates; NaN where the mean curve does not reach the accuracy."""
    curves = monotone(weights @ runs / weights.sum(axis=1, keepdims=True))
    reached = curves >= accuracy - 1e-12
    k = reached.argmax(axis=1)
    rows = np.arange(len(curves))
    here, before = curves[rows, k], curves[rows, np.maximum(k - 1, 0)]
    share = np.where(here > before, (accuracy - before) / np.where(here > before, here - before, 1.0), 1.0)
    start = moments[np.maximum(k - 1, 0)]
    return np.asarray(np.where(reached.any(axis=1), start + share * (moments[k] - start), np.nan))


def _saving_interval(
    reference: FloatArray, other: FloatArray, moments: FloatArray, *, accuracy: float, seed: int
) -> tuple[tuple[float, float] | None, str | None]:
    n = len(reference)
    if n < 3:
        return None, "few_replicates"
    weights = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=RESAMPLES).astype(np.float64)
    before, after = (_votes_needed(each, moments, weights, accuracy) for each in (reference, other))
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = 1 - after / before
    interval = percentile_interval(shares, INTERVAL_LEVEL)
    return interval, None if interval else "mostly_not_reached"


# The comparison of a policy with random order, as tables and in a sentence.


REPLICATES = 100
MOST_REPLICATES = 5000
# Accuracies that are looked at where none are asked for: those of random order after these shares of the votes.
_SHARES = (0.25, 0.5, 0.75)
_MEANT = {
    "both": "the model and each pair's own votes together",
    "majority": "the majority of each pair's own votes",
    "unseen": "the model alone, on pairs of which nobody was asked",
}


@dataclass(frozen=True)
class OrderingComparison:
    """`random` and `policy` hold the mean accuracy at each of `moments` (votes given), by measure."""

    setting: SimulationSettings
    ordering: Ordering
    replicates: int
    seed: int
    moments: list[int]
    random: dict[str, list[float]]
    policy: dict[str, list[float]]
    savings: dict[str, list[VoteSaving]]


def compare_orders(
    setting: SimulationSettings,
    ordering: Ordering,
    *,
    replicates: int = REPLICATES,
    seed: int = 1,
    accuracies: Sequence[float] = (),
    progress: Callable[[int], None] = lambda done: None,
) -> OrderingComparison:
    """Raises ValueError, with a sentence, for numbers that cannot be."""
    if not 3 <= replicates <= MOST_REPLICATES:
        raise ValueError(f"Simulate 3 to {MOST_REPLICATES} replicates.")
    if seed < 0:
        raise ValueError("A seed is 0 or more.")
    if any(not 0.5 < accuracy < 1 for accuracy in accuracies):
        raise ValueError("An accuracy is a share between 0.5, which is chance, and 1.")
    policies = {"random": RANDOM, "policy": policy_of(ordering)}
    curves = simulated_curves(setting, policies, replicates=replicates, seed=seed, progress=progress)
    savings = {}
    for measure in MEASURES:
        runs = curves["random"][measure], curves["policy"][measure]
        levels = accuracies or _reached(runs[0], setting)
        moments = setting.moments.astype(np.float64)
        savings[measure] = [vote_saving(*runs, moments, accuracy=level, seed=seed) for level in levels]
    return OrderingComparison(
        setting=setting,
        ordering=ordering,
        replicates=replicates,
        seed=seed,
        moments=setting.moments.tolist(),
        random=_means(curves["random"]),
        policy=_means(curves["policy"]),
        savings=savings,
    )


def policy_of(ordering: Ordering) -> Policy:
    def priority(known: VotesSoFar) -> FloatArray:
        return priorities(ordering, margins=known.margins, first=known.first, second=known.second)

    return Policy(ordering.uniform, ordering.among, priority)


def comparison_lines(comparison: OrderingComparison) -> Iterator[str]:
    """A table of all accuracies, and the sentence."""
    setting = comparison.setting
    yield (
        f"{comparison.replicates} simulated studies of {setting.pairs} pairs ({setting.question}), "
        f"{setting.raters} raters, {setting.votes} votes, at most {setting.overlap} on a pair. The model learns anew "
        f"every {setting.step}, priorities follow every {setting.refresh} votes."
    )
    columns = (
        Column("measure", "told rightly by"),
        Column("accuracy", "pairs", "percent", 1),
        Column("random", "votes, random", "count"),
        Column("policy", "votes, policy", "count"),
        Column("saved", "saved, 95 % interval", "percent", 1),
    )
    rows = [
        (_MEANT[measure], one.accuracy, one.reference_votes, one.votes, _saved(one))
        for measure in MEASURES
        for one in comparison.savings[measure]
    ]
    yield from table_lines(Table("savings", "", columns, rows))
    yield comparison_verdict(comparison)


def comparison_verdict(comparison: OrderingComparison) -> str:
    """What the policy saves in what a study is after, the model together with the votes, halfway."""
    rows = comparison.savings["both"]
    row = rows[len(rows) // 2]
    at = f"At {_percent(row.accuracy)} of pairs told rightly"
    if row.saved is None or row.interval is None:
        return f"{at}: {SENTENCES[row.reason or 'not_reached']}"
    low, high = row.interval
    needed = f"the policy needs {row.votes:,.0f} votes, random order {row.reference_votes:,.0f}"
    interval = (
        f"(share of votes saved {_percent(row.saved)}, 95 % interval {_percent(low)} to {_percent(high)})"
    )
    if low > 0:
        return f"{at} {needed}: the policy saves votes {interval}."
    if high < 0:
        return f"{at} {needed}: the policy saves none, it costs more {interval}."
    return f"{at} {needed}: the policy saves none that could be told from chance {interval}."


def _reached(reference: FloatArray, setting: SimulationSettings) -> list[float]:
    mean = reference.mean(axis=0)
    return [float(np.interp(share * setting.votes, setting.moments, mean)) for share in _SHARES]


def _means(curves: Any) -> dict[str, list[float]]:
    return {measure: runs.mean(axis=0).tolist() for measure, runs in curves.items()}


def _saved(saving: VoteSaving) -> Measured:
    low, high = saving.interval or (None, None)
    reason = None if saving.interval else SENTENCES[saving.reason or "not_reached"]
    return Measured(saving.saved, low, high, reason)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %".replace("-", "−")


def main() -> None:
    arguments = harness.options(__doc__, replicates=REPLICATES, seed=1)
    print(json.dumps(asdict(compare_orders(SimulationSettings(), Ordering(), **vars(arguments)))))


if __name__ == "__main__":
    main()
