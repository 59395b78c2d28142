"""A sequential likelihood test for raters who favour, or disfavour, a system against everybody else's judgment.

Of each comparison that shows system s, the others say with what chance q it wins. If the rater judges as they do, the
odds of s are q / (1 - q); somebody who votes for it beyond that has these odds times d, and somebody who votes against
it, divided by d. The evidence is the mean of both likelihood ratios,

    E = (prod_i L(y_i; d q_i) / L(y_i; q_i) + prod_i L(y_i; q_i / d) / L(y_i; q_i)) / 2,

which starts at 1 and is a martingale while the rater judges as the others do: by Ville's inequality it ever reaches
1 / alpha with a chance of at most alpha, however often it is looked at (as in `ranking.sequential`; Wald, "Sequential
tests of statistical hypotheses", Ann. Math. Statist. 16, 1945). What counts is the greatest E that a rater has reached:
evidence once given stands. Of k systems the greatest counts, divided by k: a union bound, which pays for having looked
at all of them.

Ratings are tested the same way by how far they lie from the others', in standard deviations, after the rater's own
mean: a severe rater is not one who favours somebody.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analytics.statistics.arrays import BoolArray, FloatArray, IntArray

# Odds that a rater of interest multiplies, and the shift of ratings in standard deviations.
ODDS_FACTOR = 4.0
SHIFT = 1.0
# The others' chance of a win is taken as no more certain than this: they may be few.
_SUREST = 0.95


@dataclass(frozen=True)
class SystemDeviation:
    """n: the rater's votes on it. share: of those that it won; expected: what the others' votes say. log10_e: the
    greatest evidence so far, 0 for none. favoured: by this rater more than by others."""

    system: int
    n: int
    share: float
    expected: float
    log10_e: float
    favoured: bool


@dataclass(frozen=True)
class Deviation:
    """log10_e: over all systems; 2 means that a rater who judges as the others do gets there with a chance of 1 % at
    most. `systems`: the most deviating first."""

    log10_e: float
    systems: tuple[SystemDeviation, ...]


def preference_deviation(
    first: ArrayLike, second: ArrayLike, won: ArrayLike, expected: ArrayLike, *, odds: float = ODDS_FACTOR
) -> Deviation:
    """By vote in the order of time: the systems compared, 1 where the rater preferred the first and 0 the second, and
    the others' chance that the first wins. Ties say nothing, and are left out before."""
    one, two = (np.asarray(column, dtype=np.int64) for column in (first, second))
    win, chance = (np.asarray(column, dtype=np.float64) for column in (won, expected))
    chance = np.clip(chance, 1 - _SUREST, _SUREST)
    found = []
    for system in np.unique(np.concatenate([one, two])).tolist():
        shown = (one == system) != (two == system)
        as_first = one[shown] == system
        y = np.where(as_first, win[shown], 1 - win[shown])
        q = np.where(as_first, chance[shown], 1 - chance[shown])
        if not len(y):
            continue
        up, down = (_log_ratio(y, q, factor) for factor in (odds, 1 / odds))
        found.append(_deviation(system, y, q, up, down))
    return _overall(found)


def shift_deviation(systems: ArrayLike, above_others: ArrayLike, *, shift: float = SHIFT) -> Deviation:
    """By rating in the order of time: its system, and how far it lies above the mean of the others' on the same unit.

    The rater's own mean and standard deviation are not known, so both are integrated out by the right Haar prior, which
    leaves the likelihood ratio of the two-sample t statistic: a martingale whatever they are (Lai, "On confidence
    sequences", Ann. Statist. 4, 1976). Taking them for known from some twenty ratings would give every tenth rater
    the evidence of one in a hundred.
    """
    label, above = np.asarray(systems, dtype=np.int64), np.asarray(above_others, dtype=np.float64)
    found = []
    for system in np.unique(label).tolist():
        its = label == system
        if its.sum() < len(its) and len(its) > 2:
            evidence = _shift_evidence(above, its, shift)
            found.append(
                SystemDeviation(
                    system=system,
                    n=int(its.sum()),
                    share=float(above[its].mean()),
                    expected=float(above[~its].mean()),
                    log10_e=max(0.0, float(evidence.max()) / float(np.log(10))),
                    favoured=bool(above[its].mean() >= above[~its].mean()),
                )
            )
    return _overall(found)


def _shift_evidence(x: FloatArray, its: BoolArray, shift: float) -> FloatArray:
    """(n,) log of the mean of both ratios after each rating. With n ratings, of which the system has a and the rest b,
    d between both means, v = 1/a + 1/b, and Q the sum of squares about the mean of all,

        ratio = exp(-shift^2 / 2v) E exp(c Y),   c = shift d / (v sqrt(Q)),   Y chi-distributed with n - 1 degrees.
    """
    n = np.arange(1, len(x) + 1)
    a, sums = np.cumsum(its), np.cumsum(x)
    squares = np.cumsum(x**2) - sums**2 / n
    looked = (a > 0) & (a < n) & (n > 2) & (squares > 1e-9 * np.cumsum(x**2))
    n, a, sums, own, squares = n[looked], a[looked], sums[looked], np.cumsum(x * its)[looked], squares[looked]
    v = 1 / a + 1 / (n - a)
    c = shift * (own / a - (sums - own) / (n - a)) / (v * np.sqrt(squares))
    up, down = (_log_mean_exp_chi(side * c, n - 1) for side in (1, -1))
    evidence = np.zeros(len(x))
    evidence[looked] = np.logaddexp(up, down) - np.log(2) - shift**2 / (2 * v)
    return evidence


def _log_mean_exp_chi(c: FloatArray, df: IntArray) -> FloatArray:
    """log E exp(c Y) of chi-distributed Y, by the trapezoid rule about the mode, beyond which the density falls faster
    than a normal one."""

    def log_integral(tilt: FloatArray) -> FloatArray:
        mode = (tilt + np.sqrt(tilt**2 + 4 * (df - 1))) / 2
        low = np.maximum(mode - 8, 1e-9)
        y = low[:, None] + (mode + 8 - low)[:, None] * np.linspace(0, 1, 81)
        log = (df - 1)[:, None] * np.log(y) - y**2 / 2 + tilt[:, None] * y
        top = log.max(axis=1)
        return np.asarray(top + np.log(np.trapezoid(np.exp(log - top[:, None]), y, axis=1)))

    return log_integral(c) - log_integral(np.zeros_like(c))


def _log_ratio(y: FloatArray, q: FloatArray, factor: float) -> FloatArray:
    shifted = factor * q / (factor * q + 1 - q)
    return np.asarray(y * np.log(shifted / q) + (1 - y) * np.log((1 - shifted) / (1 - q)))


def _deviation(
    system: int, y: FloatArray, q: FloatArray, up: FloatArray, down: FloatArray
) -> SystemDeviation:
    evidence = np.logaddexp(np.cumsum(up), np.cumsum(down)) - np.log(2)
    return SystemDeviation(
        system=system,
        n=len(y),
        share=float(y.mean()),
        expected=float(q.mean()),
        log10_e=max(0.0, float(evidence.max()) / float(np.log(10))),
        favoured=float(up.sum()) >= float(down.sum()),
    )


def _overall(found: Iterable[SystemDeviation]) -> Deviation:
    systems = sorted(found, key=lambda one: (-one.log10_e, one.system))
    if not systems:
        return Deviation(0.0, ())
    top = systems[0].log10_e - float(np.log10(len(systems)))
    return Deviation(max(0.0, top), tuple(systems))


def most_deviating(by_question: Iterable[Deviation]) -> Deviation:
    """The strongest of several questions, whose evidence pays for having looked at all of them."""
    tested = [one for one in by_question if one.systems]
    if not tested:
        return Deviation(0.0, ())
    top = max(tested, key=lambda one: one.log10_e)
    return Deviation(max(0.0, top.log10_e - float(np.log10(len(tested)))), top.systems)
