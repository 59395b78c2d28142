"""Variance components of a pilot's votes, by moments.

Two votes on outputs of the same system differ because of who said them, of what they are about, or of neither. Half the
mean squared difference of two votes estimates the sum of what they do not share, without bias and whatever the design:
of one output, raters + residual; of one rater, items + outputs + residual; of neither, all (a symmetric sum of the kind
of Koch, Technometrics 9, 1967). In a complete design with a vote per cell these are the analysis of variance's
estimates. Sums over groups need no pairs: n * (sum of squares) - (sum)^2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.statistics.arrays import FloatArray, IntArray
from analytics.statistics.planning.sample_size import VarianceComponents

# From ten, a variance is known to about half of itself: the relative error is sqrt(2 / (n - 1)).
_FEW_OUTPUTS, _FEW_RATERS = 20, 10

SENTENCES = {
    "no_votes": "There are no votes yet.",
    "one_vote_each": "No output has votes by two people, so what raters say cannot be told from what it is about.",
    "one_output_each": "No system has votes on two outputs, so nothing says how much outputs differ.",
    "raters_apart": "No rater has votes on two outputs of a system (or nobody is named), so severity counts as noise.",
    "small": "The pilot is small: these figures are rough, so look at what others would change.",
    "no_shared_items": "No two systems answered the same items, so what an item is for all counts as outputs'.",
}


@dataclass(frozen=True)
class PilotComponents:
    """components: None where the votes cannot tell; `notes` are codes of SENTENCES that say what is missing.

    An estimate below zero is given as zero, as usual: there is too little of it to see.
    """

    components: VarianceComponents | None
    votes: int
    systems: int
    outputs: int
    raters: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Pairs:
    """How many pairs of votes, and the sum of their squared differences."""

    n: float
    squares: float

    def __sub__(self, other: _Pairs) -> _Pairs:
        return _Pairs(self.n - other.n, self.squares - other.squares)

    @property
    def variance(self) -> float | None:
        return self.squares / self.n / 2 if self.n > 0.5 else None


def variance_components(
    values: FloatArray, *, unit: IntArray, system: IntArray, item: IntArray, rater: IntArray
) -> PilotComponents:
    """Each (n,), a row per vote; `unit` is the output or comparison, `system` what a mean is of. A rater of -1 is
    unknown: such votes count as different people's. A rater votes on a unit once. NaN is no vote."""
    finite = np.isfinite(values)
    values = values[finite]
    unit, system, item, rater = (column[finite] for column in (unit, system, item, rater))
    named = rater >= 0
    same_unit = _pairs(values, unit)
    same_rater = _pairs(values[named], _joint_numbers(system[named], rater[named]))
    different = _pairs(values, system) - same_unit - same_rater
    of_unit, of_rater, of_neither = same_unit.variance, same_rater.variance, different.variance
    missing = {
        "one_vote_each": of_unit is None,
        "one_output_each": of_neither is None,
        "raters_apart": of_rater is None,
    }
    notes = tuple(code for code in missing if missing[code]) if len(values) else ("no_votes",)
    raters, outputs = len(np.unique(rater[named])), len(np.unique(unit))
    if len(values) and (outputs < _FEW_OUTPUTS or 0 < raters < _FEW_RATERS):
        notes += ("small",)
    components = None
    if of_unit is not None and of_neither is not None:
        about = max(of_neither - of_unit, 0.0)
        severity = max(of_neither - of_rater, 0.0) if of_rater is not None else 0.0
        items = _item_covariance(values, system=system, item=item, rater=rater, severity=severity)
        notes += ("no_shared_items",) if items is None else ()
        shared = min(max(items or 0.0, 0.0), about)
        components = VarianceComponents(severity, shared, about - shared, max(of_unit - severity, 0.0))
    return PilotComponents(
        components=components,
        votes=len(values),
        systems=len(np.unique(system)),
        outputs=outputs,
        raters=raters,
        notes=notes,
    )


def _item_covariance(
    values: FloatArray, *, system: IntArray, item: IntArray, rater: IntArray, severity: float
) -> float | None:
    """The covariance of votes on one item for different systems, freed of what one rater's two votes share."""
    named = rater >= 0
    counts = np.bincount(system)
    apart = values - (np.bincount(system, values) / np.maximum(counts, 1))[system]
    products, pairs = _cross_products(apart, item, system)
    items = len(np.unique(item))
    if pairs < 1 or items < 2:
        return None
    ones = np.ones(int(named.sum()))
    _, by_one_rater = _cross_products(ones, _joint_numbers(item[named], rater[named]), system[named])
    # Means are over the same items that are compared: a degree of freedom less.
    return products / pairs * items / (items - 1) - severity * by_one_rater / pairs


def _cross_products(values: FloatArray, group: IntArray, system: IntArray) -> tuple[float, float]:
    """Of pairs in one group and of different systems: the sum of their products, and how many there are."""
    _, whole = np.unique(group, return_inverse=True)
    _, part = np.unique(_joint_numbers(group, system), return_inverse=True)
    sums = [np.bincount(of, values) for of in (whole, part)]
    counts = [np.bincount(of).astype(np.float64) for of in (whole, part)]
    products, pairs = (((by[0] ** 2).sum() - (by[1] ** 2).sum()) / 2 for by in (sums, counts))
    return float(products), float(pairs)


def _pairs(values: FloatArray, group: IntArray) -> _Pairs:
    _, number = np.unique(group, return_inverse=True)
    centred = values - values.mean() if len(values) else values
    n = np.bincount(number).astype(np.float64)
    squares = n * np.bincount(number, centred**2) - np.bincount(number, centred) ** 2
    return _Pairs(float((n * (n - 1) / 2).sum()), float(squares.sum()))


def _joint_numbers(left: IntArray, right: IntArray) -> IntArray:
    return left * (int(right.max(initial=0)) + 1) + right
