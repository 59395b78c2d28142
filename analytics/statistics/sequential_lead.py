"""Stopping at a lead: Wald's sequential probability ratio test for votes between two."""

from __future__ import annotations

import math
from dataclasses import dataclass


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
