"""How far two rankings of the same systems differ: with and without some raters, by one model and by another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.statistics.correlation import kendall
from analytics.statistics.ranking_results import RankedSystem, Ranking


@dataclass(frozen=True)
class RankChange:
    """A system's rank and strength in the one ranking and in the other."""

    system: str
    ranks: tuple[int, int]
    strengths: tuple[float, float]


@dataclass(frozen=True)
class RankChanges:
    """All systems that both rank, in the order of the first ranking.

    tau: Kendall's tau-b of the ranks (Biometrika 33, 1945); None below two systems, or where one ranking has all equal.
    """

    systems: tuple[RankChange, ...]
    tau: float | None

    @property
    def moved(self) -> tuple[RankChange, ...]:
        return tuple(one for one in self.systems if one.ranks[0] != one.ranks[1])


def rank_changes(one: Ranking, other: Ranking) -> RankChanges:
    """Compares the largest groups of the two; ranks are those within each, as their own ranking prints them."""
    before, after = _ranked(one), _ranked(other)
    both = [
        RankChange(name, (rank, after[name][0]), (strength, after[name][1]))
        for name, (rank, strength) in before.items()
        if name in after
    ]
    return RankChanges(tuple(both), _tau(both))


def _ranked(ranking: Ranking) -> dict[str, tuple[int, float]]:
    found: dict[str, tuple[int, float]] = {}
    for line in ranking.groups[0].systems if ranking.groups else ():
        if (place := _place(line)) is not None:
            found[line.system] = place
    return found


def _place(line: RankedSystem) -> tuple[int, float] | None:
    return None if line.rank is None or line.strength is None else (line.rank, line.strength)


def _tau(systems: list[RankChange]) -> float | None:
    if len(systems) < 2:
        return None
    x, y = (np.array([float(system.ranks[side]) for system in systems]) for side in (0, 1))
    tau = float(kendall(x, y)(np.ones((1, len(x))))[0])
    return tau if np.isfinite(tau) else None
