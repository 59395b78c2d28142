"""What people said, by what a scorer scores: candidates with their ratings, pairs of candidates with their votes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import numpy as np

from analytics.statistics.distinct_rows import FloatArray, IntArray
from analytics.vote_frames import NOBODY, BoolArray, Votes, said_before
from annotation.models import Answer


@dataclass(frozen=True, eq=False)
class Rated:
    """A row per candidate. `unit`: one of its units, for strata. mean, n: of its ratings.

    row, value: a row per rating: which candidate it is about, and what was said.
    """

    candidate: IntArray
    unit: IntArray
    item: IntArray
    prompt: IntArray
    system: IntArray
    mean: FloatArray
    n: IntArray
    row: IntArray
    value: FloatArray

    def __len__(self) -> int:
        return len(self.candidate)


@dataclass(frozen=True, eq=False)
class Compared:
    """A row per pair of candidates, the way round in which it was first voted on.

    votes: (n, 3) for the first, for the second, for neither ("tie" and "both bad"). confidence: the mean of those that
    were given, NaN without any.
    """

    first: IntArray
    second: IntArray
    unit: IntArray
    item: IntArray
    prompt: IntArray
    votes: FloatArray
    confidence: FloatArray

    def __len__(self) -> int:
        return len(self.first)

    @property
    def lead(self) -> FloatArray:
        return np.asarray(self.votes[:, 0] - self.votes[:, 1])

    @property
    def decided(self) -> BoolArray:
        return np.asarray(self.lead != 0)

    def select(self, mask: BoolArray) -> Compared:
        return replace(self, **{field.name: getattr(self, field.name)[mask] for field in fields(self)})


@dataclass(frozen=True, eq=False)
class Group:
    """Some of the rows: `by` is what divides them, empty for all."""

    by: str
    name: str
    rows: BoolArray


def rated(votes: Votes) -> Rated:
    """From votes that count, of each named rater the first on a candidate: tasks may share it, and a person who meets
    it twice is still one. One answer about several candidates together is about none of them."""
    units, unit = votes.units, votes.unit
    kept = (units.candidate[unit] > 0) & np.isfinite(votes.value)
    kept[kept] = ~said_before(units.candidate[unit[kept]], votes.rater[kept])
    unit, value = unit[kept], votes.value[kept]
    of, row = _by_unit(unit, units.candidate[unit])
    candidate = units.candidate[of]
    n = np.bincount(row, minlength=len(candidate))
    mean = np.bincount(row, weights=value, minlength=len(candidate)) / np.maximum(n, 1)
    return Rated(
        candidate, of, units.item_ids[of], units.prompt[of], units.first[of], np.asarray(mean), n, row, value
    )


def compared(votes: Votes) -> Compared:
    """From votes that count, of each named rater the first on a pair. Tasks may show a pair either way round."""
    units = votes.units
    low, high = np.minimum(units.candidate, units.other), np.maximum(units.candidate, units.other)
    pair_of = np.unique(np.stack([low, high], axis=1), axis=0, return_inverse=True)[1].ravel()
    kept = low[votes.unit] > 0
    kept[kept] = ~said_before(pair_of[votes.unit[kept]], votes.rater[kept])
    unit, value, sure = votes.unit[kept], votes.value[kept], votes.confidence[kept]
    of, row = _by_unit(unit, pair_of[unit])
    side = np.where(value == Answer.Choice.FIRST, 0, np.where(value == Answer.Choice.SECOND, 1, 2))
    turned = units.candidate[unit] != units.candidate[of][row]
    side = np.where(turned & (side < 2), 1 - side, side)
    votes_of = np.bincount(row * 3 + side, minlength=3 * len(of)).reshape(-1, 3)
    return Compared(
        first=units.candidate[of],
        second=units.other[of],
        unit=of,
        item=units.item_ids[of],
        prompt=units.prompt[of],
        votes=votes_of.astype(np.float64),
        confidence=_mean(row, sure, len(of)),
    )


def by_strata(votes: Votes, unit: IntArray) -> Iterator[Group]:
    for key in sorted(votes.units.strata):
        stratum = votes.units.strata[key]
        if len(stratum.values) > 1:
            for number, value in enumerate(stratum.values):
                yield Group(key, value, stratum.of_unit[unit] == number)


def present_systems(found: Rated, votes: Votes) -> list[tuple[str, BoolArray]]:
    return [
        (name, found.system == number)
        for number, name in enumerate(votes.systems)
        if number != NOBODY and (found.system == number).any()
    ]


def _by_unit(unit: IntArray, what: IntArray) -> tuple[IntArray, IntArray]:
    """Of each thing that votes are about, the unit of its first vote, ascending; and of each vote, which thing. Units
    are in an order that does not come from the database, as ids of candidates do."""
    _, first, number = np.unique(what, return_index=True, return_inverse=True)
    order = np.argsort(unit[first])
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return unit[first][order], place[number]


def _mean(row: IntArray, values: FloatArray, n: int) -> FloatArray:
    known = np.isfinite(values)
    times = np.bincount(row[known], minlength=n)
    total = np.bincount(row[known], weights=values[known], minlength=n)
    return np.where(times > 0, total / np.maximum(times, 1), np.nan)
