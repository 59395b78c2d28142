"""Majority votes: how many make the majority of a comparison right, and what sequential stopping saves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from analytics.statistics.arrays import FloatArray

# Stopping at a lead: Wald's sequential probability ratio test for votes between two.


@dataclass(frozen=True)
class Lead:
    """`lead`: stop when one side is so many votes ahead. `expected_votes` it takes where the chance of a vote is p."""

    lead: int
    expected_votes: float


def wald_lead(p: float, *, false_alarm: float = 0.05, miss: float = 0.05) -> Lead:
    """The lead at which to stop when each vote goes to the better side with chance p.

    The ratio of the likelihoods of p and 1 - p is (p / (1 - p)) to the power of the lead, so Wald's test (Ann. Math.
    Statist. 16, 1945) with error chances `false_alarm` and `miss` stops at the first lead d with that ratio at least
    (1 - miss) / false_alarm. The expected number of votes is that of the gambler's ruin between -d and d (Feller, "An
    Introduction to Probability Theory", vol. 1, XIV.3). Raises ValueError for p outside (0.5, 1) and for error chances
    that are not positive or that sum to 1 or more.
    """
    if not 0.5 < p < 1:
        raise ValueError(f"The better side wins a vote with a chance between 0.5 and 1; got {p}.")
    if not (false_alarm > 0 and miss > 0 and false_alarm + miss < 1):
        raise ValueError(f"Error chances are positive and sum to less than 1; got {false_alarm} and {miss}.")
    odds = math.log(p / (1 - p))
    # Where the bound is a whole number of votes, rounding must not ask for one more.
    lead = max(1, math.ceil(math.log((1 - miss) / false_alarm) / odds - 1e-9))
    reached = 1 / (1 + math.exp(-lead * odds))
    return Lead(lead, lead * (2 * reached - 1) / (2 * p - 1))


MOST_VOTES = 199
_NODES = 4000


@dataclass(frozen=True)
class MajorityPlan:
    """votes: the fewest (an odd number) whose majority is right with `accuracy`; None where none up to MOST_VOTES is.
    lead, expected_votes: of stopping at a lead with an error chance of one minus the target, both ways."""

    votes: int | None
    accuracy: float | None
    one_vote: float
    lead: int | None
    expected_votes: float | None


def mixed_majority_accuracy(votes: int, *, correlation: float) -> float:
    """The chance that the majority of votes is right; a draw is tossed.

    Items differ: of each, a share q of raters prefers the first side, q ~ Beta(a, a), and the right answer is what more
    than half would say. `correlation` of two votes on one item is 1 / (2a + 1).
    """
    shares, weights = _beta_halves(correlation)
    return float(np.dot(_majority_right(votes, shares), weights))


def plan_majority(accuracy: float, *, correlation: float = 0.0) -> MajorityPlan:
    """By the correlation of votes on an item."""
    if not 0.5 < accuracy < 1:
        raise ValueError(f"The accuracy lies between 0.5 and 1; got {accuracy}.")

    def reached(votes: int) -> float:
        return mixed_majority_accuracy(votes, correlation=correlation)

    votes = next((n for n in range(1, MOST_VOTES + 1, 2) if reached(n) >= accuracy), None)
    one = reached(1)
    right = None if votes is None else reached(votes)
    if not 0.5 < one < 1:
        return MajorityPlan(votes, right, one, None, None)
    stop = wald_lead(one, false_alarm=1 - accuracy, miss=1 - accuracy)
    return MajorityPlan(votes, right, one, stop.lead, stop.expected_votes)


def _majority_right(votes: int, correct: FloatArray) -> FloatArray:
    """(n,) by the chance of each vote being right, (n,)."""
    if votes < 1:
        raise ValueError(f"A majority takes a vote or more; got {votes}.")
    from scipy import special  # takes a moment to load

    # Of an even number, half of the draws are right.
    more, as_many = (special.bdtrc(below, votes, correct) for below in (votes // 2, (votes - 1) // 2))
    return np.asarray((more + as_many) / 2)


@cache
def _beta_halves(correlation: float) -> tuple[FloatArray, FloatArray]:
    """Shares of raters on the right side, 1/2 to 1, and their weights.

    With q = sin^2(x) the density q^(a-1) (1-q)^(a-1) dq becomes (sin x cos x)^(2a-1) dx up to a factor, which is tame
    where a is near a half.
    """
    if not 0 <= correlation <= 1:
        raise ValueError(f"The correlation lies between 0 and 1; got {correlation}.")
    if correlation in (0.0, 1.0):
        return np.array([0.5 + correlation / 2]), np.ones(1)
    a = (1 / correlation - 1) / 2
    # Even steps of a power of the distance from the end, so that a pole there has a finite share in each step.
    steps = (np.arange(_NODES) + 0.5) / _NODES
    away = 0.5 * steps ** (1 / a)
    weights = (1 - away) ** (a - 1)
    return 1 - away, weights / weights.sum()
