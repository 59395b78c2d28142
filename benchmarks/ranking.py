"""A ranking of 20 systems from a million comparisons with 200 replicates, beside evalica and choix.

    python -m benchmarks.ranking [--votes 1000000] [--systems 20] [--replicates 200] [--rounds 3]

Ours goes from arrays of votes to a table with intervals of strengths, ranks and win rates, by raters drawn anew; the
other libraries get their votes in the lists they take, made beforehand, and give the strengths alone. evalica's own
bootstrap refits from the votes each time, so it is asked for few replicates, and its time for one is told. A library
that is not installed is absent from the comparison, and said to be. Rounds take turns; the median counts.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

from analytics.statistics.bootstrap import Resampling
from analytics.statistics.ranking.comparisons import FIRST, SECOND, TIE, Comparisons, count_comparisons
from analytics.statistics.ranking.ranking import WALD, Ranking, RankingSettings, rank_systems
from benchmarks import harness

RATERS, PROMPTS, NU = 500, 10_000, 0.55
SECONDS = 1.0
EVALICA_REPLICATES = 3


def main() -> None:
    arguments = harness.options(__doc__, votes=1_000_000, systems=20, replicates=200, rounds=3)
    votes = Votes(arguments.votes, arguments.systems)
    works: dict[str, Callable[[], Any]] = {
        "ours by rater": lambda: ours(votes, "rater", arguments.replicates),
        "ours by rater, with position": lambda: ours(votes, "rater", arguments.replicates, position=True),
        "ours by prompt": lambda: ours(votes, "prompt", arguments.replicates),
        "ours by vote": lambda: ours(votes, "votes", arguments.replicates),
        "ours without replicates": lambda: ours(votes, WALD, 1),
        **by_evalica(votes),
        **by_choix(votes),
    }
    results = {name: work() for name, work in works.items()}  # warm, and to compare
    seconds = harness.in_turns(works, arguments.rounds)
    medians = {name: round(statistics.median(times), 4) for name, times in seconds.items()}
    figures = vars(arguments) | {
        "raters": RATERS,
        "prompts": PROMPTS,
        "ties": round(float(np.mean(votes.outcome == TIE)), 3),
        "seconds": medians,
        "evalica": harness.installed("evalica") or "absent",
        "choix": harness.installed("choix") or "absent",
        "largest_difference": differences(results),
    }
    harness.finish(
        "a ranking of a million comparisons takes a second",
        figures,
        {f"seconds by {one}": (medians[f"ours by {one}"], SECONDS, "<=") for one in ("rater", "prompt")},
    )


class Votes:
    """Drawn from Davidson's model, every pair as often in either order."""

    def __init__(self, n: int, systems: int) -> None:
        rng = np.random.default_rng(0)
        self.names = [f"system {k:02}" for k in range(systems)]
        self.first = rng.integers(systems, size=n)
        self.second = (self.first + rng.integers(1, systems, size=n)) % systems
        strength = np.linspace(1, -1, systems)
        d = strength[self.first] - strength[self.second]
        weights = np.exp(np.stack([d / 2, -d / 2, np.full_like(d, np.log(NU))]))
        self.outcome = (rng.random(n) > np.cumsum(weights / weights.sum(axis=0), axis=0)).sum(axis=0)
        self.rater, self.prompt = rng.integers(RATERS, size=n), rng.integers(PROMPTS, size=n)

    def counted(self, by: str) -> Comparisons:
        columns = {"rater": self.rater, "prompt": self.prompt}
        clusters = {by: columns[by]} if by in columns else None
        return count_comparisons(self.names, self.first, self.second, self.outcome, clusters=clusters)


def ours(votes: Votes, by: str, replicates: int, *, position: bool = False) -> np.ndarray:
    settings = RankingSettings(by, position=position, resampling=Resampling(replicates=replicates))
    return strengths(rank_systems(votes.counted(by), settings))


def strengths(ranking: Ranking) -> np.ndarray:
    (group,) = ranking.groups
    return np.array(
        [line.strength for line in sorted(group.systems, key=lambda line: line.system)], dtype=float
    )


def by_evalica(votes: Votes) -> dict[str, Callable[[], Any]]:
    if not harness.installed("evalica"):
        return {}
    import evalica

    winners = {FIRST: evalica.Winner.X, SECOND: evalica.Winner.Y, TIE: evalica.Winner.Draw}
    columns = (votes.first.tolist(), votes.second.tolist(), [winners[one] for one in votes.outcome.tolist()])

    def newman() -> np.ndarray:
        scores = evalica.newman(*columns, tolerance=1e-10, limit=1000).scores
        return centred(np.log(scores.sort_index().to_numpy()))

    return {
        "evalica newman": newman,
        "evalica bradley_terry": lambda: evalica.bradley_terry(*columns).scores,
        f"evalica bootstrap of {EVALICA_REPLICATES}": lambda: evalica.bootstrap(
            evalica.bradley_terry,
            *columns,
            n_resamples=EVALICA_REPLICATES,
            bootstrap_method="percentile",
            random_state=0,
        ),
    }


def by_choix(votes: Votes) -> dict[str, Callable[[], Any]]:
    """It knows no ties: they are left out."""
    if not harness.installed("choix"):
        return {}
    import choix

    decided = votes.outcome != TIE
    first, second, outcome = votes.first[decided], votes.second[decided], votes.outcome[decided]
    won, lost = np.where(outcome == FIRST, (first, second), (second, first)).tolist()
    pairs = list(zip(won, lost, strict=True))
    return {"choix ilsr_pairwise": lambda: centred(choix.ilsr_pairwise(len(votes.names), pairs))}


def centred(values: np.ndarray) -> np.ndarray:
    return np.asarray(values - values.mean())


def differences(results: dict[str, Any]) -> dict[str, float]:
    """Of strengths; choix fits other votes, so it can only be near."""
    reference = results["ours by rater"]
    return {
        name: float(f"{np.abs(results[name] - reference).max():.2g}")
        for name in ("evalica newman", "choix ilsr_pairwise")
        if name in results
    }


if __name__ == "__main__":
    main()
