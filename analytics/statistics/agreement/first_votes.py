"""The first k votes of each unit: reliability data that stopping rules have not selected.

A third vote that is asked for only when two differ makes all votes together disagree more often than people do. The
first k votes of each unit do not, as long as every unit gets k whatever they say, and neither do all the votes of units
that were chosen by lot, before anybody voted, to get the same number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analytics.statistics.arrays import BoolArray


@dataclass(frozen=True, eq=False)
class FirstVotes:
    """kept: (N,) which of the rows are among the first k of their unit. short: how many of the units have fewer.

    Units that are short because nobody has come yet do no harm; where votes end once they agree, choose a k that none
    is short of.
    """

    kept: BoolArray
    k: int
    units: int
    short: int


def first_votes(units: ArrayLike, times: ArrayLike, *, k: int, ids: ArrayLike) -> FirstVotes:
    """The first k votes of each unit by time; votes of the same time follow their ids, which are distinct.

    All are columns with one row per vote. Raises ValueError for a k below 1, columns of unequal length, a time that is
    missing, and ids that are not distinct.
    """
    unit, time, label = np.asarray(units), np.asarray(times), np.asarray(ids)
    if k < 1:
        raise ValueError(f"The first {k} votes of a unit are none; k is at least 1.")
    if unit.ndim != 1 or not unit.shape == time.shape == label.shape:
        raise ValueError(
            f"Units, times and ids are columns of equal length: {unit.shape}, {time.shape}, {label.shape}."
        )
    if _missing(time).any():
        raise ValueError("A vote has no time, so nothing says whether it came first.")
    if len(np.unique(label)) < len(label):
        raise ValueError("Two votes have the same id, so nothing says which came first.")
    order = np.lexsort([label, time, unit])
    _, starts, lengths = np.unique(unit[order], return_index=True, return_counts=True)
    place = np.arange(len(order)) - np.repeat(starts, lengths)
    kept = np.zeros(len(unit), dtype=np.bool_)
    kept[order[place < k]] = True
    return FirstVotes(kept, k, units=len(starts), short=int((lengths < k).sum()))


def overlap_sample(units: ArrayLike, *, share: float, seed: int) -> NDArray[np.generic]:
    """Units drawn by lot, the same whatever order they come in: `share` of the distinct ones, and at least one."""
    if not 0 < share <= 1:
        raise ValueError(f"The share of the units to draw lies between 0 and 1; got {share}.")
    distinct = np.unique(np.asarray(units))
    size = min(len(distinct), max(1, round(share * len(distinct))))
    return np.sort(np.random.default_rng(seed).choice(distinct, size=size, replace=False))


def _missing(time: NDArray[np.generic]) -> BoolArray:
    if time.dtype.kind == "O":
        return np.array([one is None for one in time.tolist()], dtype=np.bool_)
    return np.asarray(time != time)
