"""How often systems were preferred: over all opponents, and pair by pair."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.statistics.distinct_rows import FloatArray, IntArray
from analytics.statistics.ranking_counts import BOTH_BAD, FIRST, SECOND, TIE, Comparisons, summed


@dataclass(frozen=True)
class Tallies:
    """Votes per system, each (B, systems): one row, or one per replicate. Both sides of a vote count it."""

    wins: FloatArray
    losses: FloatArray
    ties: FloatArray
    both_bad: FloatArray

    @property
    def rate(self) -> FloatArray:
        """(wins + ties / 2) / (wins + losses + ties); NaN where that is of none. Both bad says nothing here."""
        with np.errstate(invalid="ignore"):
            return np.asarray((self.wins + self.ties / 2) / (self.wins + self.losses + self.ties))


@dataclass(frozen=True)
class Pair:
    """The votes on two systems, in whichever order they were shown; `one` comes first in the list of systems.

    shown_first: how many of the votes showed `one` first.
    """

    one: str
    other: str
    one_wins: int
    other_wins: int
    ties: int
    both_bad: int
    shown_first: int

    @property
    def share(self) -> float | None:
        """Of the votes that preferred one of the two, the share for `one`; None where there is none."""
        decided = self.one_wins + self.other_wins
        return self.one_wins / decided if decided else None


def tallies(comparisons: Comparisons, counts: FloatArray) -> Tallies:
    """From the counts (B, cells) of the table, or of replicates of it."""
    n, first, second = len(comparisons.systems), comparisons.first, comparisons.second

    def votes(*roles: tuple[int, IntArray]) -> FloatArray:
        total = np.zeros((len(counts), n))
        for outcome, system in roles:
            chosen = comparisons.outcome == outcome
            total += summed(counts[:, chosen], system[chosen], size=n)
        return total

    return Tallies(
        wins=votes((FIRST, first), (SECOND, second)),
        losses=votes((FIRST, second), (SECOND, first)),
        ties=votes((TIE, first), (TIE, second)),
        both_bad=votes((BOTH_BAD, first), (BOTH_BAD, second)),
    )


def pairs(comparisons: Comparisons) -> list[Pair]:
    """All pairs that were compared, in the order of the systems."""
    n = len(comparisons.systems)
    first, second, outcome = comparisons.first, comparisons.second, comparisons.outcome
    swapped = first > second
    seen = np.where(swapped & (outcome < TIE), FIRST + SECOND - outcome, outcome)
    key = np.minimum(first, second) * n + np.maximum(first, second)
    occurring, row = np.unique(key, return_inverse=True)
    outcomes = np.bincount(row * 4 + seen, weights=comparisons.count, minlength=4 * len(occurring))
    in_order = np.bincount(row, weights=comparisons.count * ~swapped, minlength=len(occurring))
    table = np.column_stack([outcomes.reshape(-1, 4), in_order]).astype(np.int64)
    return [
        Pair(comparisons.systems[pair // n], comparisons.systems[pair % n], *numbers)
        for pair, numbers in zip(occurring.tolist(), table.tolist(), strict=True)
    ]
