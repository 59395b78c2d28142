"""Mean opinion scores (MOS) per system, and pairwise significance tests between systems."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from statistics import NormalDist

import numpy as np

from analytics.statistics.arrays import BoolArray, FloatArray, IntArray
from analytics.statistics.bootstrap import Interval, Resampling, batches
from analytics.statistics.intervals import TwoWayStandardError, two_sided_t_p, two_way_standard_error


@dataclass(frozen=True, eq=False)
class Ratings:
    """Columns with a row per rating: which system (-1: none), unit, item and rater (-1: unnamed), and its value.

    `item`: what comes and goes together if the study were done again, such as a prompt with all its outputs.
    """

    system: IntArray
    unit: IntArray
    item: IntArray
    rater: IntArray
    value: FloatArray

    def __post_init__(self) -> None:
        if (infinite := self.value[~np.isfinite(self.value)]).size:
            raise ValueError(f"Ratings must be finite numbers; found {infinite[0]}.")

    def __len__(self) -> int:
        return len(self.value)

    def of(self, rows: IntArray | BoolArray) -> Ratings:
        return Ratings(*(column[rows] for column in vars(self).values()))

    @property
    def raters(self) -> IntArray | None:
        """None as soon as one rating names nobody: nobody can say whose it is."""
        return None if not len(self) or (self.rater < 0).any() else self.rater


@dataclass(frozen=True)
class MeanOpinionScore:
    """What was said of one system. mean, median: None without ratings. sd, with n - 1: None below two.

    interval: of the mean; None where `uncertainty` gives a reason.
    """

    system: int
    ratings: int
    units: int
    mean: float | None
    median: float | None
    sd: float | None
    quartiles: tuple[float, float] | None
    interval: tuple[float, float] | None
    uncertainty: TwoWayStandardError


def mean_opinion_score(ratings: Ratings, *, level: float, system: int = -1) -> MeanOpinionScore:
    """Of all the ratings together."""
    if not (n := len(ratings)):
        undefined = two_way_standard_error(ratings.value, items=ratings.item, raters=None)
        return MeanOpinionScore(system, 0, 0, None, None, None, None, None, undefined)
    value, mean = ratings.value, float(ratings.value.mean())
    scores = (value - mean) / n if value.min() < value.max() else np.zeros(n)
    uncertainty = two_way_standard_error(scores, items=ratings.item, raters=ratings.raters)
    half = uncertainty.half_width(level)
    low, middle, high = np.quantile(value, [0.25, 0.5, 0.75]).tolist()
    return MeanOpinionScore(
        system=system,
        ratings=n,
        units=len(np.unique(ratings.unit)),
        mean=mean,
        median=middle,
        sd=math.sqrt(float((scores**2).sum()) * n * n / (n - 1)) if n > 1 else None,
        quartiles=(low, high),
        interval=None if half is None else (mean - half, mean + half),
        uncertainty=uncertainty,
    )


def mean_opinion_scores(ratings: Ratings, *, level: float) -> list[MeanOpinionScore]:
    """Of every system that was rated, the best mean first; equal means in the order of the systems' numbers."""
    present = np.unique(ratings.system[ratings.system >= 0]).tolist()
    scores = (
        mean_opinion_score(ratings.of(ratings.system == one), level=level, system=one) for one in present
    )
    return sorted(scores, key=lambda one: (-(one.mean or 0.0), one.system))


# Which systems differ: every two of them compared, and the comparisons tested together. Where most items
# were judged with both systems, the two are compared item by item, so that easy and hard items weigh the
# same on either side. Where items were dealt out among the systems such pairs are too few, and the means of
# all ratings are compared; that is fair as far as items fell to systems by chance.


# Up to so many prompts every way to swap the two systems is gone through (4,096 ways); beyond many the sum of so many
# signs is as good as normal.
_ALL_SWAPS, _DRAWN_SWAPS = 12, 500
# Ways drawn for every pair: at least so many, and no more than can be gone through for hundreds of pairs.
_FEWEST_DRAWS, _MOST_DRAWS = 9_999, 99_999
_ROUNDING = 1e-9
# How many numbers a piece of the work may hold at once.
_CELLS = 2_000_000

NO_SHARED, TOO_FEW = "no_shared_items", "too_few_shared_items"
# With five the smallest p-value there can be is 2 / 32.
FEWEST_ITEMS = 6


@dataclass(frozen=True)
class SystemPair:
    """first, second: numbers of systems, the first with the better mean. items: on which both were rated.
    difference: first less second, of the means of all ratings or, paired, on average over those items, each counting
    once. Its interval is clustered by rater and by item.

    p: two-sided, from the clustered interval; paired, by swapping the systems prompt by prompt, unless raters are named
    and that of the interval is larger. swapped: p rests on the swaps. It does not where not even the clearest of them
    could be significant beside so many other pairs: the fewer the prompts, the larger the smallest p there can be.
    adjusted: after Holm (1979) for all pairs that could be tested. reason: why there is no p, or else no interval.
    """

    first: int
    second: int
    items: int
    difference: float | None
    interval: tuple[float, float] | None
    p: float | None
    adjusted: float | None
    reason: str | None
    swapped: bool = False


def mostly_shared(ratings: Ratings, shared: IntArray) -> bool:
    """Whether two systems share, in half of all pairs or more, at least half the items of the one with fewer."""
    systems, column = np.unique(ratings.system, return_inverse=True)
    if len(systems) < 2:
        return False
    items = [np.unique(shared[column == k]) for k in range(len(systems))]
    shares = [
        len(np.intersect1d(one, other, assume_unique=True)) / min(len(one), len(other))
        for one, other in combinations(items, 2)
    ]
    return float(np.median(shares)) >= 0.5


def system_pairs(
    ratings: Ratings, order: Sequence[int], *, shared: IntArray, paired: bool, resampling: Resampling
) -> list[SystemPair]:
    """Every two systems of `order` (the best first). `shared`: (n,) what two ratings must have in common to be
    compared, the thing that was judged; `ratings.item` are the clusters, which may hold several of those."""
    compare = _compare_items if paired else _compare_means
    compared, pairs = [], list(combinations(order, 2))
    for first, second in pairs:
        rows = np.flatnonzero((ratings.system == first) | (ratings.system == second))
        compared.append(compare(ratings.of(rows), shared[rows], first, second, resampling, pairs=len(pairs)))
    adjusted = iter(holm_adjusted([one.p for one in compared if one.p is not None]))
    return [one if one.p is None else replace(one, adjusted=next(adjusted)) for one in compared]


def holm_adjusted(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values, in the order given (Holm 1979): each times how many are left, never below a smaller one's."""
    p = np.array(p_values)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, p[order] * np.arange(len(p), 0, -1)))
    return adjusted.tolist()


def compact_letters(order: Sequence[int], pairs: Sequence[SystemPair], *, level: float) -> dict[int, str]:
    """Letters by system: two that share one do not differ significantly (Piepho 2004, insert and absorb).

    A pair that could not be tested counts as not different.
    """
    apart = [
        {one.first, one.second} for one in pairs if one.adjusted is not None and one.adjusted < 1 - level
    ]
    groups = [frozenset(order)]
    for two in apart:
        parted = [group - {one} for group in groups if two <= group for one in two]
        groups = [group for group in groups if not two <= group] + parted
        groups = [group for group in groups if not any(group < other for other in groups)]
        groups = list(dict.fromkeys(groups))
    place = {system: number for number, system in enumerate(order)}
    groups.sort(key=lambda group: sorted(place[one] for one in group))
    return {
        system: "".join(_letter(n) for n, group in enumerate(groups) if system in group) for system in order
    }


def _compare_means(
    ratings: Ratings, shared: IntArray, first: int, second: int, resampling: Resampling, *, pairs: int
) -> SystemPair:
    is_first = ratings.system == first
    weight = np.where(is_first, 1 / max(int(is_first.sum()), 1), -1 / max(int((~is_first).sum()), 1))
    both = np.intersect1d(shared[is_first], shared[~is_first])
    difference, interval, error = _difference(ratings, weight, is_first, resampling)
    # One item of a system does not differ from its own mean, which is not certainty.
    alone = min(len(np.unique(ratings.item[side])) for side in (is_first, ~is_first)) < 2
    if alone or error.items < FEWEST_ITEMS:
        interval = None if alone else interval
        return SystemPair(first, second, len(both), difference, interval, None, None, TOO_FEW)
    p = two_sided_t_p(difference, error)
    return SystemPair(first, second, len(both), difference, interval, p, None, error.reason)


def _compare_items(
    ratings: Ratings, shared: IntArray, first: int, second: int, resampling: Resampling, *, pairs: int
) -> SystemPair:
    is_first = ratings.system == first
    both = np.intersect1d(shared[is_first], shared[~is_first])
    if not len(both):
        return SystemPair(first, second, 0, None, None, None, None, NO_SHARED)
    rows = np.isin(shared, both)
    ratings, is_first, items = ratings.of(rows), is_first[rows], np.searchsorted(both, shared[rows])
    n = np.bincount(items * 2 + is_first)
    weight = np.where(is_first, 1.0, -1.0) / n[items * 2 + is_first] / len(both)
    difference, interval, error = _difference(ratings, weight, is_first, resampling)
    if error.items < FEWEST_ITEMS:
        return SystemPair(first, second, len(both), difference, interval, None, None, TOO_FEW)
    # Enough that the smallest p there can be is half of what so many pairs together ask for.
    draws = math.ceil(2 * pairs / (1 - resampling.level))
    draws = max(resampling.replicates, min(max(draws, _FEWEST_DRAWS), _MOST_DRAWS))
    p = two_sided_t_p(difference, error)
    # Whatever the ratings say, so the choice favours no result; only without spread there is nothing else.
    swapped = p is None or _smallest_p(error.items, draws) * pairs < 1 - resampling.level
    if swapped:
        by_raters = p if error.by_raters and p is not None else 0.0
        by_swaps = _permutation_p(weight * ratings.value, ratings.item, draws=draws, seed=resampling.seed)
        p = max(by_swaps, by_raters)
    return SystemPair(first, second, len(both), difference, interval, p, None, error.reason, swapped)


def _difference(
    ratings: Ratings, weight: FloatArray, is_first: BoolArray, resampling: Resampling
) -> tuple[float, Interval | None, TwoWayStandardError]:
    """Of two weighted means, `weight` adding up to 1 on one side and to -1 on the other."""
    parts = weight * ratings.value
    # Deviations from each system's own mean: what raters and items have in common cancels in their sums.
    means = np.where(is_first, parts[is_first].sum(), -parts[~is_first].sum())
    varies = np.abs(ratings.value - means) > _ROUNDING * np.abs(ratings.value).max()
    scores = np.where(varies, weight * (ratings.value - means), 0.0)
    error = two_way_standard_error(scores, items=ratings.item, raters=ratings.raters)
    difference, half = float(parts.sum()), error.half_width(resampling.level)
    return difference, None if half is None else (difference - half, difference + half), error


def _permutation_p(parts: FloatArray, prompt: IntArray, *, draws: int, seed: int) -> float:
    """How often prompts whose two systems changed places by chance would add up to as large a difference."""
    sums = np.bincount(np.unique(prompt, return_inverse=True)[1], weights=parts)
    sums = sums[np.abs(sums) > _ROUNDING * np.abs(parts).max(initial=0.0)]
    observed = abs(float(sums.sum())) * (1 - _ROUNDING)
    if len(sums) <= _ALL_SWAPS:
        swaps = np.array(list(product((1.0, -1.0), repeat=len(sums)))).reshape(2 ** len(sums), len(sums))
        return float((np.abs(swaps @ sums) >= observed).mean())
    if len(sums) > _DRAWN_SWAPS:
        return 2 * NormalDist().cdf(-observed / math.sqrt(float(sums @ sums)))
    rng, extreme = np.random.default_rng(seed), 0
    for rows in batches(draws, width=len(sums), cells=_CELLS):
        signs = rng.integers(0, 2, size=(rows, len(sums)), dtype=np.int8) * 2.0 - 1.0
        extreme += int((np.abs(signs @ sums) >= observed).sum())
    # The order as it is, is one of the ways.
    return (extreme + 1) / (draws + 1)


def _smallest_p(prompts: int, draws: int) -> float:
    """The p of a difference that all prompts share, two ways of swapping them being as clear."""
    exact = 2.0 ** (1 - prompts)
    return max(exact, 1 / (draws + 1)) if _ALL_SWAPS < prompts <= _DRAWN_SWAPS else exact


def _letter(number: int) -> str:
    """a to z, then aa, ab, ..."""
    head, last = divmod(number, 26)
    return (_letter(head - 1) if head else "") + chr(ord("a") + last)
