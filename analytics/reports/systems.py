"""How the systems fare: means of their ratings, shares of their comparisons. Plain sums, each with its n."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from analytics.frames import PairVotes, SystemRatings


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
    """

    system: str
    n: int
    wins: int
    losses: int
    ties: int
    both_bad: int
    win_rate: float | None


def means(rows: Iterable[SystemRatings]) -> list[SystemMean]:
    """The best first."""
    found = [SystemMean(row.system, row.n, row.total / row.n, _sd(row)) for row in rows]
    return sorted(found, key=lambda one: (-one.mean, one.system))


def wins(rows: Iterable[PairVotes]) -> list[SystemWins]:
    """The most often preferred first. Comparisons of a system with itself tell nothing here."""
    tallies: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        if row.first_system == row.second_system:
            continue
        even = {"ties": row.tie, "both_bad": row.both_bad}
        tallies[row.first_system].update(wins=row.first, losses=row.second, **even)
        tallies[row.second_system].update(wins=row.second, losses=row.first, **even)
    found = [_wins(system, tally) for system, tally in tallies.items()]
    return sorted(found, key=lambda one: (one.win_rate is None, -(one.win_rate or 0.0), one.system))


def _wins(system: str, tally: Counter[str]) -> SystemWins:
    decided = tally["wins"] + tally["losses"] + tally["ties"]
    return SystemWins(
        system=system,
        n=decided + tally["both_bad"],
        wins=tally["wins"],
        losses=tally["losses"],
        ties=tally["ties"],
        both_bad=tally["both_bad"],
        win_rate=(tally["wins"] + tally["ties"] / 2) / decided if decided else None,
    )


def _sd(row: SystemRatings) -> float | None:
    if row.n < 2:
        return None
    # Rounding can leave a tiny negative where all ratings are equal.
    return math.sqrt(max(0.0, row.squares - row.total**2 / row.n) / (row.n - 1))
