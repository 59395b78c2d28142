"""How many units would have ratings far apart if raters differed by noise alone.

The reference is a latent scale on which units lie normally and every rating adds normal noise of one and the same
size, whichever unit it is about; the points of the real scale are cut from it so that each is as frequent as it was
(the model behind polychoric correlations: Olsson, Psychometrika 1979). The noise is made as large as it takes for
units to vary within as much, on average, as they did. Then the share of units above a threshold is drawn from the
model, for units with as many ratings as the real ones have. The real share is beside a model fitted to the real units,
so each drawn share has to be beside one fitted to its own: what its own variance within would have made the model
expect is taken off, to first order. Without that the range would be as wide as if nothing had been fitted.

More units above the threshold than that: disagreement is gathered in some units, which are disputed rather than noisily
rated. Fewer: it is spread more evenly than equal noise would.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from analytics.statistics.bootstrap import Resampling
from analytics.statistics.distinct_rows import FloatArray, IntArray

# Draws of ratings in all, and the fewest repetitions of the study.
_DRAWS, _FEWEST = 12_000_000, 20
_NODES = 400
# How far to either side of the consistency, and in how many draws, the slope of the share is taken.
_STEP, _FOR_SLOPE = 0.05, 50
# A continuous scale is described by so many of its quantiles.
_MOST_VALUES = 512

NO_PAIRABLE, NO_VARIATION = "no_pairable_units", "no_variation"


@dataclass(frozen=True)
class Share:
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
    shares: tuple[Share, ...]
    repetitions: int
    reason: str | None = None


def population_variances(unit: IntArray, value: FloatArray, *, units: int) -> FloatArray:
    """(units,) of each unit's ratings, divided by how many they are; NaN below two ratings."""
    n = np.bincount(unit, minlength=units)
    mean = np.bincount(unit, weights=value, minlength=units) / np.maximum(n, 1)
    squares = np.bincount(unit, weights=(value - mean[unit]) ** 2, minlength=units)
    return np.where(n > 1, squares / np.maximum(n, 1), np.nan)


def noise_reference(
    unit: IntArray, value: FloatArray, *, thresholds: tuple[float, ...], resampling: Resampling
) -> NoiseReference:
    """`unit` numbers from 0 the unit of each rating."""
    sizes = np.bincount(unit) if len(unit) else np.zeros(0, dtype=np.int64)
    rows = sizes[unit] > 1
    sizes = sizes[sizes > 1]
    if not len(sizes):
        return NoiseReference(0, None, (), 0, NO_PAIRABLE)
    number, given = np.unique(unit[rows], return_inverse=True)[1], value[rows]
    if given.min() == given.max():
        return NoiseReference(len(sizes), None, (), 0, NO_VARIATION)
    observed = population_variances(number, given, units=len(sizes))
    within = _within(observed, sizes)
    values, cuts = _scale(given)
    consistency = _consistency(values, cuts, within)
    repetitions = max(_FEWEST, min(resampling.replicates, _DRAWS // len(given)))
    model = _Model(np.sort(sizes), values, cuts, thresholds, seed=resampling.seed)
    drawn = model.refitted(consistency, within, repetitions=repetitions)
    low, high = np.quantile(drawn, [(1 - resampling.level) / 2, (1 + resampling.level) / 2], axis=0)
    found = tuple(
        Share(
            threshold=threshold,
            above=(above := int((observed > threshold).sum())),
            expected=float(drawn[:, k].mean()),
            low=float(low[k]),
            high=float(high[k]),
            p=_two_sided(drawn[:, k], above / len(sizes)),
        )
        for k, threshold in enumerate(thresholds)
    )
    return NoiseReference(len(sizes), consistency, found, repetitions)


def _within(variances: FloatArray, sizes: IntArray) -> float:
    """Of all ratings about their own unit's mean, from each unit's variance divided by n."""
    return float((variances * sizes).sum() / (sizes - 1).sum())


def _two_sided(drawn: FloatArray, observed: float) -> float:
    """Twice the smaller tail. Shares are fractions of one number of units, so equal ones may differ by rounding."""
    tails = (drawn >= observed - 1e-12).sum(), (drawn <= observed + 1e-12).sum()
    return min(1.0, 2 * (int(min(tails)) + 1) / (len(drawn) + 1))


def _scale(given: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The values of the scale, (V,), and where the latent scale is cut between them, (V - 1,)."""
    from scipy import special  # takes a moment to load: only with a report

    values, counts = np.unique(given, return_counts=True)
    if len(values) > _MOST_VALUES:
        values, counts = np.unique(
            np.quantile(given, (np.arange(_MOST_VALUES) + 0.5) / _MOST_VALUES), return_counts=True
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
class _Model:
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
            variance = population_variances(unit, value, units=units)
            shares[row] = [(variance > threshold).mean() for threshold in self.thresholds]
            within[row] = _within(variance, self.sizes)
        return shares, within
