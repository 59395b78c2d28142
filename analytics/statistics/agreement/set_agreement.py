"""Agreement of sets of options: equal ones, and how much two sets share.

MASI: Passonneau (2006), "Measuring agreement on set-valued items (MASI) for semantic and pragmatic annotation",
LREC: the Jaccard index times 1 for equal sets, 2/3 where one holds the other, 1/3 where they overlap, 0 otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

Chosen = frozenset[int]


@dataclass(frozen=True)
class SetAgreement:
    """Over pairs of raters on one unit; None without any."""

    pairs: int
    equal: float | None
    masi: float | None


def masi(one: Chosen, other: Chosen) -> float:
    """The similarity, 0 to 1. Two empty sets are equal."""
    if one == other:
        return 1.0
    shared = one & other
    if not shared:
        return 0.0
    monotonicity = 2 / 3 if one <= other or other <= one else 1 / 3
    return monotonicity * len(shared) / len(one | other)


def set_agreement(units: Sequence[Sequence[Chosen]]) -> SetAgreement:
    """`units`: of each, what each rater chose. Every pair of raters on a unit counts alike."""
    pairs = [pair for unit in units for pair in combinations(unit, 2)]
    if not pairs:
        return SetAgreement(0, None, None)
    equal = sum(one == other for one, other in pairs) / len(pairs)
    return SetAgreement(len(pairs), equal, sum(masi(*pair) for pair in pairs) / len(pairs))


def mean_set_distance(chosen: Sequence[Chosen]) -> float | None:
    """1 - MASI, averaged over the pairs of raters of one unit, from 0 to 1; None below two raters."""
    similarity = set_agreement([chosen]).masi
    return None if similarity is None else 1 - similarity
