"""How many comparisons a study needs: for the interval of a win rate, or to tell it from one half.

A vote between two systems counts 1 for a win, 1/2 for a tie and 0 for a loss, and a win rate is the mean of such votes:
what `planning` says of ratings holds of it, with the pair of systems for a system.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from statistics import NormalDist

import numpy as np

from analytics.statistics.distinct_rows import FloatArray
from analytics.statistics.planning import Components, Design, Plan, fewest, plan_mean, require

_NORMAL = NormalDist()
# Exact up to so many votes; beyond, the normal approximation differs by less than a vote in a hundred.
_MOST_EXACT = 3000
# How far beyond the first number with enough power a larger one can fall short of it again: the exact test's power
# goes up and down with n, by less and less.
_TEETH = 60
_SAMPLING = ("random_raters", "many_raters", "equal_loads", "independent_items")


def vote_components(
    win_rate: float, *, ties: float = 0.0, between_items: float = 0.0, between_raters: float = 0.0
) -> Components:
    """The variances of one vote. win_rate: of the votes that are no ties. between_items, between_raters: the
    correlation of two votes on the same comparison by different raters, and of two votes of one rater on different
    comparisons of the same systems."""
    _require(win_rate, ties, between_items, between_raters)
    wins = (1 - ties) * win_rate
    total = wins + ties / 4 - (wins + ties / 2) ** 2
    rest = 1 - between_items - between_raters
    return Components(
        raters=between_raters * total, items=0.0, outputs=between_items * total, residual=rest * total
    )


def plan_win_rate(
    components: Components, design: Design, *, half_width: float, confidence: float = 0.95
) -> Plan:
    """The fewest comparisons of each pair of systems for which its win rate's interval is no wider than that."""
    found = plan_mean(components, design, half_width=half_width, confidence=confidence)
    return replace(found, assumptions=("ties_half", "same_correlation", *found.assumptions))


def plan_preference(
    win_rate: float,
    design: Design,
    *,
    ties: float = 0.0,
    between_items: float = 0.0,
    between_raters: float = 0.0,
    power: float = 0.8,
    confidence: float = 0.95,
) -> Plan:
    """The fewest comparisons of each pair for which a system that wins so often is told from one that wins half.

    Votes that are no ties are worth one over the design effect of an independent one.
    """
    require(design)
    _require(win_rate, ties, between_items, between_raters)
    needed, exact = votes_for_preference(win_rate, power=power, confidence=confidence)
    test = "exact_binomial" if exact else "normal_binomial"
    words = (test, "ties_left_out", "same_correlation", *_SAMPLING, "one_comparison")
    if needed is None:
        return Plan(None, None, words, reason="even_chance")

    def worth(items: int) -> float:
        planned = replace(design, items=items)
        effect = _effect(planned, between_items, between_raters)
        return items * design.overlap * (1 - ties) / effect

    items = fewest(lambda n: worth(n) >= needed)
    if items is None:
        return Plan(None, None, words, reason="too_many")
    found = replace(design, items=items)
    reached = preference_power(math.floor(worth(items) + 1e-9), win_rate, confidence=confidence)
    return Plan(found, reached, words, _effect(found, between_items, between_raters))


def votes_for_preference(
    win_rate: float, *, power: float = 0.8, confidence: float = 0.95
) -> tuple[int | None, bool]:
    """Independent votes from which on a two-sided test at this win rate always has this power, and whether by the
    exact test or by the normal approximation; None at one half."""
    if win_rate == 0.5:
        return None, True
    p = max(win_rate, 1 - win_rate)
    rough = _normal_votes(p, power=power, confidence=confidence)
    if rough > _MOST_EXACT:
        return rough, False
    last_short = max(
        (n for n in range(1, rough + _TEETH) if preference_power(n, p, confidence=confidence) < power),
        default=0,
    )
    return last_short + 1, True


def preference_power(n: int, win_rate: float, *, confidence: float = 0.95) -> float:
    """Of the two-sided test of `n` independent votes against one half; exact up to a few thousand votes."""
    if n < 1:
        return 0.0
    if n > _MOST_EXACT:
        return _normal_power(n, win_rate, confidence=confidence)
    critical = _critical(n, confidence)
    if critical is None:
        return 0.0
    chances = _chances(n, win_rate)
    return float(min(chances[critical:].sum() + chances[: n - critical + 1].sum(), 1.0))


def _normal_votes(p: float, *, power: float, confidence: float) -> int:
    """Fleiss, "Statistical Methods for Rates and Proportions", section 2.3, for a known proportion of one half."""
    of_test, of_power = _NORMAL.inv_cdf((1 + confidence) / 2), _NORMAL.inv_cdf(power)
    return math.ceil(((of_test / 2 + of_power * math.sqrt(p * (1 - p))) / (p - 0.5)) ** 2)


def _normal_power(n: int, win_rate: float, *, confidence: float) -> float:
    critical = _NORMAL.inv_cdf((1 + confidence) / 2) / 2
    spread = math.sqrt(win_rate * (1 - win_rate)) or 1e-12
    lead = abs(win_rate - 0.5) * math.sqrt(n)
    return float(_NORMAL.cdf((lead - critical) / spread) + _NORMAL.cdf((-lead - critical) / spread))


@cache
def _critical(n: int, confidence: float) -> int | None:
    """The fewest wins of n that the test calls more than half; None where even all are not enough."""
    tail = np.cumsum(_chances(n, 0.5)[::-1])[::-1]
    rejecting = np.flatnonzero(2 * tail <= 1 - confidence + 1e-12)
    return int(rejecting[0]) if rejecting.size else None


def _chances(n: int, p: float) -> FloatArray:
    """(n + 1,) of 0 to n wins."""
    if p in (0.0, 1.0):
        return np.asarray(np.eye(n + 1)[round(n * p)])
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    k = np.arange(n + 1)
    return np.asarray(np.exp(logs[n] - logs - logs[::-1] + k * math.log(p) + (n - k) * math.log1p(-p)))


def _effect(design: Design, between_items: float, between_raters: float) -> float:
    """Kish's design effect with two kinds of clusters; below one it would promise more than there is."""
    n = design.items * design.overlap
    per_rater = n / design.raters + 1 - 1 / design.blocks
    return max(1.0, 1 + (design.overlap - 1) * between_items + (per_rater - 1) * between_raters)


def _require(win_rate: float, ties: float, between_items: float, between_raters: float) -> None:
    if not 0 <= win_rate <= 1:
        raise ValueError(f"The win rate lies between 0 and 1; got {win_rate}.")
    if not 0 <= ties < 1:
        raise ValueError(f"The share of ties lies between 0 and 1, below 1; got {ties}.")
    if between_items < 0 or between_raters < 0 or between_items + between_raters > 1:
        raise ValueError(
            f"Correlations are 0 or more and at most 1 together; got {between_items} and {between_raters}."
        )
