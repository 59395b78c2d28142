"""How the systems fare: means of their ratings, shares of their comparisons. Plain sums, each with its n.

Beside the shares, which depend on whom a system met, its strength, which does not. Intervals need the votes one by one,
so a report has them.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from analytics.frames import PairVotes, SystemRatings
from analytics.statistics.ranking import rank_systems
from analytics.statistics.ranking_counts import OUTCOMES, coded, count_comparisons
from analytics.statistics.ranking_results import WALD, RankingSettings


@dataclass(frozen=True)
class SystemMean:
    """`sd` is the sample standard deviation of the ratings; None below two."""

    system: str
    n: int
    mean: float
    sd: float | None


@dataclass(frozen=True)
class SystemWins:
    """Votes in comparisons with other systems.

    win_rate: (wins + ties / 2) / (wins + losses + ties); "both bad" says nothing about which is better and is apart.
    strength: log-odds against the mean of all systems (see `statistics.ranking`); None where they have none, or cannot
    all be compared with each other.
    """

    system: str
    n: int
    wins: int
    losses: int
    ties: int
    both_bad: int
    win_rate: float | None
    strength: float | None = None


def means(rows: Iterable[SystemRatings]) -> list[SystemMean]:
    """The best first."""
    found = [SystemMean(row.system, row.n, row.total / row.n, _sd(row)) for row in rows]
    return sorted(found, key=lambda one: (-one.mean, one.system))


def wins(rows: Iterable[PairVotes]) -> list[SystemWins]:
    """The most often preferred first. Comparisons of a system with itself tell nothing here."""
    compared = [row for row in rows if row.first_system != row.second_system]
    tallies: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in compared:
        even = {"ties": row.tie, "both_bad": row.both_bad}
        tallies[row.first_system].update(wins=row.first, losses=row.second, **even)
        tallies[row.second_system].update(wins=row.second, losses=row.first, **even)
    strengths = _strengths(compared)
    found = [_wins(system, tally, strengths.get(system)) for system, tally in tallies.items()]
    return sorted(found, key=lambda one: (one.win_rate is None, -(one.win_rate or 0.0), one.system))


def _strengths(rows: list[PairVotes]) -> dict[str, float | None]:
    names, number = coded(name for row in rows for name in (row.first_system, row.second_system))
    pair = number.reshape(-1, 2).repeat(len(OUTCOMES), axis=0)
    outcome = list(OUTCOMES) * len(rows)
    votes = [n for row in rows for n in (row.first, row.second, row.tie, row.both_bad)]
    comparisons = count_comparisons(names, pair[:, 0], pair[:, 1], outcome, votes=votes)
    groups = rank_systems(comparisons, RankingSettings(intervals=WALD)).groups
    return {line.system: line.strength for line in groups[0].systems} if len(groups) == 1 else {}


def _wins(system: str, tally: Counter[str], strength: float | None) -> SystemWins:
    decided = tally["wins"] + tally["losses"] + tally["ties"]
    return SystemWins(
        system=system,
        n=decided + tally["both_bad"],
        wins=tally["wins"],
        losses=tally["losses"],
        ties=tally["ties"],
        both_bad=tally["both_bad"],
        win_rate=(tally["wins"] + tally["ties"] / 2) / decided if decided else None,
        strength=strength,
    )


def _sd(row: SystemRatings) -> float | None:
    if row.n < 2:
        return None
    # Rounding can leave a tiny negative where all ratings are equal.
    return math.sqrt(max(0.0, row.squares - row.total**2 / row.n) / (row.n - 1))
