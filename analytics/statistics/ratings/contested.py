"""Contested units: high variance of ratings that no severity and no reported fault explains.

Not a fault that somebody reported, and not raters who are strict or lenient throughout: with everybody's severity taken
out the ratings are still far apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from analytics.statistics.agreement.disagreement import squared_differences
from analytics.statistics.agreement.patterns import Patterns
from analytics.statistics.arrays import BoolArray, FloatArray, IntArray, group_variances
from analytics.statistics.bootstrap import Resampling

# How many units have ratings far apart: variance above a threshold, by every reading of the phrase. "The
# share of pairs with a variance above 1" can mean the variance of the ratings given (divided by n) or the
# unbiased estimate (by n - 1), of all units or of those with two ratings or more, above the threshold or
# reaching it. The readings differ by several per cent of the same data, so each is counted and named.


@dataclass(frozen=True)
class VarianceCounts:
    """How many units have a variance above, and at or above, `threshold`.

    A unit with one rating has a variance of 0 when divided by n, and none when divided by n - 1: it counts among
    `units`, never among those above.
    """

    threshold: float
    units: int
    pairable_units: int
    population_above: int
    population_reaching: int
    unbiased_above: int
    unbiased_reaching: int


def variance_counts(patterns: Patterns, *, threshold: float) -> VarianceCounts:
    """Raises ValueError for a threshold that is not above zero."""
    if not threshold > 0:
        raise ValueError(f"A variance is compared with a number above zero; got {threshold}.")
    pairable = patterns.pairable()
    sizes, times = pairable.sizes, pairable.multiplicity
    # Over ordered pairs of a unit's ratings: n^2 times twice the variance.
    squares = squared_differences(pairable, pairable.values[pairable.code])

    units = [
        int(times[reached].sum())
        for variance in (squares / (2 * sizes**2), squares / (2 * sizes * (sizes - 1)))
        for reached in (variance > threshold, variance >= threshold)
    ]
    return VarianceCounts(threshold, patterns.units, pairable.units, *units)


@dataclass(frozen=True, eq=False)
class ContestedUnits:
    """Columns with a row per unit number. variance: of the ratings as given, divided by their number; NaN below two.

    adjusted_variance: the same after severities, which is `variance` again where raters are unnamed. above_threshold:
    as given; explained: of these, those with a reported fault, or whose ratings are not far apart without severities.
    """

    ratings: IntArray
    variance: FloatArray
    adjusted_variance: FloatArray
    above_threshold: BoolArray
    reported: BoolArray
    explained: BoolArray

    @property
    def contested(self) -> BoolArray:
        return self.above_threshold & ~self.explained

    @property
    def pairable(self) -> BoolArray:
        return self.ratings > 1

    def ranked_units(self) -> IntArray:
        """The contested units: most apart after severities first, then most ratings, then by number."""
        units = np.flatnonzero(self.contested)
        return units[np.lexsort((units, -self.ratings[units], -np.round(self.adjusted_variance[units], 9)))]


def contested_units(
    unit: IntArray,
    value: FloatArray,
    *,
    adjusted: FloatArray | None,
    reported: BoolArray,
    threshold: float,
) -> ContestedUnits:
    """unit: number of each rating's unit. adjusted: the ratings with their raters' severities added (see
    `rater_severity`), None without named raters. reported: (units,) whether somebody gave a code to the unit."""
    if not threshold > 0:
        raise ValueError(f"A variance is compared with a number above zero; got {threshold}.")
    units = len(reported)
    variance = group_variances(unit, value, size=units, ddof=0)
    adjusted_variance = variance if adjusted is None else group_variances(unit, adjusted, size=units, ddof=0)
    with np.errstate(invalid="ignore"):
        above_threshold, still_above = variance > threshold, adjusted_variance > threshold
    return ContestedUnits(
        ratings=np.bincount(unit, minlength=units),
        variance=variance,
        adjusted_variance=adjusted_variance,
        above_threshold=above_threshold,
        reported=reported,
        explained=above_threshold & (reported | ~still_above),
    )


# How many units would have ratings far apart if raters differed by noise alone. The reference is a latent
# scale on which units lie normally and every rating adds normal noise of one and the same size, whichever
# unit it is about; the points of the real scale are cut from it so that each is as frequent as it was (the
# model behind polychoric correlations: Olsson, Psychometrika 1979). The noise is made as large as it takes
# for units to vary within as much, on average, as they did. Then the share of units above a threshold is
# drawn from the model, for units with as many ratings as the real ones have. The real share is beside a
# model fitted to the real units, so each drawn share has to be beside one fitted to its own: what its own
# variance within would have made the model expect is taken off, to first order. Without that the range
# would be as wide as if nothing had been fitted. More units above the threshold than that: disagreement is
# gathered in some units, which are disputed rather than noisily rated. Fewer: it is spread more evenly than
# equal noise would.


# Draws of ratings in all, and the fewest repetitions of the study.
_DRAWS, _FEWEST = 12_000_000, 20
_NODES = 400
# How far to either side of the consistency, and in how many draws, the slope of the share is taken.
_STEP, _FOR_SLOPE = 0.05, 50
# A continuous scale is described by so many of its quantiles.
_MOST_VALUES = 512

NO_PAIRABLE, NO_VARIATION = "no_pairable_units", "no_variation"


@dataclass(frozen=True)
class ShareAboveThreshold:
    """Units whose variance (divided by n) is above `threshold`, of all units with two ratings or more: how many, the
    share that noise alone leads to, and between which shares it falls at the level asked for, all at the variance
    within that was observed. p: how often noise alone leads to a share as far out on either side, the study as it is
    counted in, so never 0."""

    threshold: float
    above: int
    expected: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class NoiseReference:
    """`consistency`: the correlation of two ratings of a unit on the latent scale. No shares where `reason` says why:
    no unit with two ratings, or all ratings equal."""

    units: int
    consistency: float | None
    shares: tuple[ShareAboveThreshold, ...]
    repetitions: int
    reason: str | None = None


def noise_reference(
    unit: IntArray, value: FloatArray, *, thresholds: tuple[float, ...], resampling: Resampling
) -> NoiseReference:
    """`unit` numbers from 0 the unit of each rating."""
    sizes = np.bincount(unit) if len(unit) else np.zeros(0, dtype=np.int64)
    rows = sizes[unit] > 1
    sizes = sizes[sizes > 1]
    if not len(sizes):
        return NoiseReference(0, None, (), 0, NO_PAIRABLE)
    number, rating = np.unique(unit[rows], return_inverse=True)[1], value[rows]
    if rating.min() == rating.max():
        return NoiseReference(len(sizes), None, (), 0, NO_VARIATION)
    observed = group_variances(number, rating, size=len(sizes), ddof=0)
    within = _variance_within(observed, sizes)
    values, cuts = _latent_cuts(rating)
    consistency = _consistency(values, cuts, within)
    repetitions = max(_FEWEST, min(resampling.replicates, _DRAWS // len(rating)))
    model = _NoiseModel(np.sort(sizes), values, cuts, thresholds, seed=resampling.seed)
    drawn = model.refitted(consistency, within, repetitions=repetitions)
    low, high = np.quantile(drawn, [(1 - resampling.level) / 2, (1 + resampling.level) / 2], axis=0)
    shares = []
    for k, threshold in enumerate(thresholds):
        above = int((observed > threshold).sum())
        p = _two_sided_p(drawn[:, k], above / len(sizes))
        expected = float(drawn[:, k].mean())
        shares.append(ShareAboveThreshold(threshold, above, expected, float(low[k]), float(high[k]), p))
    return NoiseReference(len(sizes), consistency, tuple(shares), repetitions)


def _variance_within(variances: FloatArray, sizes: IntArray) -> float:
    """Of all ratings about their own unit's mean, from each unit's variance divided by n."""
    return float((variances * sizes).sum() / (sizes - 1).sum())


def _two_sided_p(drawn: FloatArray, observed: float) -> float:
    """Twice the smaller tail. Shares are fractions of one number of units, so equal ones may differ by rounding."""
    tails = (drawn >= observed - 1e-12).sum(), (drawn <= observed + 1e-12).sum()
    return min(1.0, 2 * (int(min(tails)) + 1) / (len(drawn) + 1))


def _latent_cuts(rating: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The values of the scale, (V,), and where the latent scale is cut between them, (V - 1,)."""
    from scipy import special  # takes a moment to load: only with a report

    values, counts = np.unique(rating, return_counts=True)
    if len(values) > _MOST_VALUES:
        values, counts = np.unique(
            np.quantile(rating, (np.arange(_MOST_VALUES) + 0.5) / _MOST_VALUES), return_counts=True
        )
    below = np.cumsum(counts)[:-1] / counts.sum()
    return values, np.asarray(special.ndtri(below))


def _consistency(values: FloatArray, cuts: FloatArray, within: float) -> float:
    """The latent correlation at which units vary within by `within` on average: by bisection, as it only falls."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        if _expected_variance(values, cuts, middle) > within:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _expected_variance(values: FloatArray, cuts: FloatArray, consistency: float) -> float:
    from scipy import special

    places = special.ndtri((np.arange(_NODES) + 0.5) / _NODES)
    below = special.ndtr(
        (cuts[None, :] - math.sqrt(consistency) * places[:, None]) / math.sqrt(1 - consistency)
    )
    chances = np.diff(below, prepend=0.0, append=1.0, axis=1)
    centred = values - values.mean()
    return float((chances @ centred**2 - (chances @ centred) ** 2).mean())


@dataclass(frozen=True, eq=False)
class _NoiseModel:
    """sizes: in order, so that the order of the units leaves no trace in the draws."""

    sizes: IntArray
    values: FloatArray
    cuts: FloatArray
    thresholds: tuple[float, ...]
    seed: int

    def refitted(self, consistency: float, within: float, *, repetitions: int) -> FloatArray:
        """(repetitions, thresholds) shares of units above, each moved by as much as the share that is expected moves
        from the drawn variance within to the real one. No share is beyond 0 or 1."""
        shares, drawn_within = self.drawn(consistency, repetitions=repetitions)
        ends = max(0.0, consistency - _STEP), min(1.0, consistency + _STEP)
        # The same draws at both ends: a few tell the slope.
        (low, low_within), (high, high_within) = (
            self.drawn(end, repetitions=min(repetitions, _FOR_SLOPE)) for end in ends
        )
        apart = float((high_within - low_within).mean())
        slope = (high - low).mean(axis=0) / apart if apart else np.zeros(len(self.thresholds))
        return np.clip(shares - np.outer(drawn_within - within, slope), 0.0, 1.0)

    def drawn(self, consistency: float, *, repetitions: int) -> tuple[FloatArray, FloatArray]:
        """(repetitions, thresholds) shares of units above, and (repetitions,) the variance within."""
        rng, units = np.random.default_rng(self.seed), len(self.sizes)
        unit = np.repeat(np.arange(units), self.sizes)
        shares, within = np.empty((repetitions, len(self.thresholds))), np.empty(repetitions)
        for row in range(repetitions):
            place = math.sqrt(consistency) * rng.standard_normal(units)
            latent = place[unit] + math.sqrt(1 - consistency) * rng.standard_normal(len(unit))
            value = self.values[np.searchsorted(self.cuts, latent)]
            variance = group_variances(unit, value, size=units, ddof=0)
            shares[row] = [(variance > threshold).mean() for threshold in self.thresholds]
            within[row] = _variance_within(variance, self.sizes)
        return shares, within
