"""Does a policy of ordering save votes? Tried in memory on worlds like the demo's, and said in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from analytics.statistics.arrays import FloatArray
from analytics.statistics.planning.ordering_simulation import (
    MEASURES,
    RANDOM,
    SENTENCES,
    Policy,
    SimulationSettings,
    VoteSaving,
    VotesSoFar,
    priorities,
    simulated_curves,
    vote_saving,
)
from annotation.rating.rules.ordering import Ordering

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

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


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
        wanted = accuracies or _reached(runs[0], setting)
        moments = setting.moments.astype(np.float64)
        savings[measure] = [vote_saving(*runs, moments, accuracy=one, seed=seed) for one in wanted]
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


def comparison_lines(found: OrderingComparison) -> Iterator[str]:
    """A table of all accuracies, and the sentence."""
    setting = found.setting
    yield (
        f"{found.replicates} simulated studies of {setting.pairs} pairs ({setting.question}), {setting.raters} raters, "
        f"{setting.votes} votes, at most {setting.overlap} on a pair. The model learns anew every {setting.step}, "
        f"priorities follow every {setting.refresh} votes."
    )
    yield f"{'told rightly by':<52} {'pairs':>7} {'random':>7} {'policy':>7} {'saved':>7}  95 % interval"
    for measure in MEASURES:
        for row in found.savings[measure]:
            yield f"{_MEANT[measure]:<52} {_percent(row.accuracy):>7} {_row(row)}"
    yield comparison_verdict(found)


def comparison_verdict(found: OrderingComparison) -> str:
    """What the policy saves in what a study is after, the model together with the votes, halfway."""
    rows = found.savings["both"]
    row = rows[len(rows) // 2]
    at = f"At {_percent(row.accuracy)} of pairs told rightly"
    if row.saved is None or row.interval is None:
        return f"{at}: {SENTENCES[row.reason or 'not_reached']}"
    low, high = row.interval
    needed = f"the policy needs {row.votes:,.0f} votes, random order {row.reference_votes:,.0f}"
    found_share = (
        f"(share of votes saved {_percent(row.saved)}, 95 % interval {_percent(low)} to {_percent(high)})"
    )
    if low > 0:
        return f"{at} {needed}: the policy saves votes {found_share}."
    if high < 0:
        return f"{at} {needed}: the policy saves none, it costs more {found_share}."
    return f"{at} {needed}: the policy saves none that could be told from chance {found_share}."


def _reached(reference: FloatArray, setting: SimulationSettings) -> list[float]:
    mean = reference.mean(axis=0)
    return [float(np.interp(share * setting.votes, setting.moments, mean)) for share in _SHARES]


def _means(curves: Any) -> dict[str, list[float]]:
    return {measure: runs.mean(axis=0).tolist() for measure, runs in curves.items()}


def _row(row: VoteSaving) -> str:
    before, after = ("–" if votes is None else f"{votes:,.0f}" for votes in (row.reference_votes, row.votes))
    saved = "–" if row.saved is None else _percent(row.saved)
    if row.interval is None:
        return f"{before:>7} {after:>7} {saved:>7}  {SENTENCES[row.reason or 'not_reached']}"
    return f"{before:>7} {after:>7} {saved:>7}  {_percent(row.interval[0])} to {_percent(row.interval[1])}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %".replace("-", "−")
