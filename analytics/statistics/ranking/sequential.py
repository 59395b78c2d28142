"""Sequential testing: a test and a confidence sequence for two systems, valid after every vote.

A test for a fixed number of votes is wrong far more often than it says when somebody looks until it says what they
hope for. Here the evidence is a mixture of likelihood ratios (Robbins, "Statistical methods related to the law of the
iterated logarithm", Ann. Math. Statist. 41, 1970): the likelihood of the votes with the win rate spread evenly over
0 to 1, divided by their likelihood at one win rate p,

    E_n(p) = B(1 + wins, 1 + losses) / (p^wins (1 - p)^losses).

If every vote, whatever came before it, goes to the first system with chance p, E_n(p) is a martingale that starts at
1, so by Ville's inequality it ever reaches 1/alpha with a chance of at most alpha, however often it is looked at. The
rates it has not ruled out form a confidence sequence (Howard, Ramdas, McAuliffe and Sekhon, "Time-uniform,
nonparametric, nonasymptotic confidence sequences", Ann. Statist. 49, 2021): all its intervals, one after each vote,
hold the true rate together with chance `level`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from analytics.statistics.arrays import FloatArray, IntArray
from analytics.statistics.intervals import wilson_interval


@dataclass(frozen=True)
class SequentialComparison:
    """What the votes so far say about two systems, and when they first said it.

    votes: those that preferred one of the two; wins: of these, the ones for the first. share: wins / votes.
    log_e_value: the natural logarithm of the evidence now against equal systems; 0 is none, -log(1 - level) decides.
    decided_at: the number of votes at which it was decided for the first time. A decision stands: what comes later
    may weaken the evidence, but the chance of ever having decided wrongly stays 1 - level.
    direction: the system ahead at that moment; None while it is open.
    interval: for the chance of the first, valid whenever it is looked at. fixed_interval: Wilson's (1927), narrower
    and valid only where the number of votes was settled beforehand. Without votes both are None.
    """

    level: float
    votes: int
    wins: int
    share: float | None
    log_e_value: float
    decided_at: int | None
    direction: Literal["first", "second"] | None
    interval: tuple[float, float] | None
    fixed_interval: tuple[float, float] | None

    @property
    def decided(self) -> bool:
        return self.decided_at is not None


def sequential_comparison(
    wins: Sequence[bool] | NDArray[np.bool_], *, level: float = 0.95
) -> SequentialComparison:
    """Compare two systems by votes in the order of time; True where the first was preferred.

    Ties and "both bad" prefer neither: leave them out and count them beside. Their share does not disturb the test,
    which asks which system is preferred where one is. Raises ValueError for a level outside (0, 1).
    """
    if not 0 < level < 1:
        raise ValueError(f"The level lies between 0 and 1; got {level}.")
    won = np.cumsum(np.asarray(wins, dtype=bool), dtype=np.int64)
    n = len(won)
    evidence = log_e_values(won)
    crossed = np.flatnonzero(evidence >= -math.log1p(-level))
    at = int(crossed[0]) + 1 if len(crossed) else None
    total = int(won[-1]) if n else 0
    return SequentialComparison(
        level=level,
        votes=n,
        wins=total,
        share=total / n if n else None,
        log_e_value=float(evidence[-1]) if n else 0.0,
        decided_at=at,
        direction=None if at is None else "first" if 2 * int(won[at - 1]) > at else "second",
        interval=anytime_interval(total, n, level=level) if n else None,
        fixed_interval=wilson_interval(total, n, level=level) if n else None,
    )


def log_e_values(wins: IntArray) -> FloatArray:
    """The logarithm of E_n(1/2) after each vote; `wins` counts those for the first among the first 1, 2, … votes."""
    n = np.arange(1, len(wins) + 1)
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, len(wins) + 2)))])
    log_beta = log_factorial[wins] + log_factorial[n - wins] - log_factorial[n + 1]
    return np.asarray(log_beta + n * math.log(2))


def anytime_interval(wins: int, n: int, *, level: float) -> tuple[float, float]:
    """The win rates p with E_n(p) < 1 / (1 - level): what the evidence has not ruled out after n votes."""
    losses = n - wins
    log_beta = math.lgamma(1 + wins) + math.lgamma(1 + losses) - math.lgamma(2 + n)
    limit = log_beta + math.log1p(-level)

    def ruled_out(p: float) -> bool:
        return _log_likelihood(wins, losses, p) <= limit

    share = wins / n
    return (
        0.0 if wins == 0 else _bisect_edge(ruled_out, outside=0.0, inside=share),
        1.0 if losses == 0 else _bisect_edge(ruled_out, outside=1.0, inside=share),
    )


def _log_likelihood(wins: int, losses: int, p: float) -> float:
    return sum(n * (math.log(q) if q > 0 else -math.inf) for n, q in ((wins, p), (losses, 1 - p)) if n)


def _bisect_edge(ruled_out: Callable[[float], bool], *, outside: float, inside: float) -> float:
    """Where what is ruled out ends, by halving: the likelihood falls on both sides of the share of wins."""
    for _ in range(60):
        middle = (outside + inside) / 2
        if ruled_out(middle):
            outside = middle
        else:
            inside = middle
    return outside
