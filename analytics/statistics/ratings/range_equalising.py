"""Range-equalising bias: whether all raters heard the same systems, as listeners always use the whole scale.

A mean opinion score therefore depends on the company a system was heard in (range-equalising bias: Cooper & Yamagishi,
"Investigating Range-Equalizing Bias in Mean Opinion Score Ratings of Synthesized Speech", Interspeech 2023). Between
raters, or times, that met different sets of systems, means are not comparable.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.statistics.arrays import FloatArray, IntArray

# Equal numbers of ratings each, in the order of time.
WINDOWS = 4
# An import that knows no times leaves those of its own writing, which are over soon and mean nothing.
_SHORTEST_S = 3600.0
# A system is absent from a window rather than rare when chance would leave it out less often than this.
_BY_CHANCE = 1e-3


@dataclass(frozen=True)
class SystemExposure:
    """How far the sets of systems that groups of ratings met are the same.

    groups: raters, or windows of time. all, most, few: how many groups heard all systems, at least half but not all,
    less than half. overlap: mean over pairs of groups of the systems both heard, of those either heard (Jaccard); None
    below two groups. never_together: pairs of systems that no group heard both of.
    """

    systems: int
    groups: int
    all: int
    most: int
    few: int
    overlap: float | None
    never_together: int

    @property
    def differs(self) -> bool:
        return self.all < self.groups


@dataclass(frozen=True)
class SystemAbsence:
    """A system that is missing from windows of time although it is frequent elsewhere; windows from 1."""

    system: int
    windows: tuple[int, ...]


def system_exposure(system: IntArray, group: IntArray) -> SystemExposure:
    """Of ratings with a known system and a known group."""
    systems, column = np.unique(system, return_inverse=True)
    groups, row = np.unique(group, return_inverse=True)
    exposure = np.zeros((len(groups), len(systems)))
    exposure[row, column] = 1
    n = exposure.sum(axis=1)
    together = exposure.T @ exposure
    return SystemExposure(
        systems=len(systems),
        groups=len(groups),
        all=int((n == len(systems)).sum()),
        most=int(((n < len(systems)) & (2 * n >= len(systems))).sum()),
        few=int((2 * n < len(systems)).sum()),
        overlap=_mean_jaccard(exposure),
        never_together=int((together[np.triu_indices(len(systems), 1)] == 0).sum()),
    )


def system_absences(system: IntArray, at: FloatArray) -> list[SystemAbsence]:
    """Systems that came or went while the study ran. `at` in seconds; of a study that was over within an hour nothing
    is said."""
    if not len(at) or np.ptp(at) < _SHORTEST_S:
        return []
    order = np.argsort(at, kind="stable")
    window = np.empty(len(at), dtype=np.int64)
    window[order] = np.arange(len(at)) * WINDOWS // len(at)
    # Equal times belong to one window, that of the first of them.
    _, first, moment = np.unique(at[order], return_index=True, return_inverse=True)
    window[order] = window[order][first][moment]
    systems, column = np.unique(system, return_inverse=True)
    table = np.bincount(column * WINDOWS + window, minlength=len(systems) * WINDOWS)
    counts = table.reshape(-1, WINDOWS)
    share = counts.sum(axis=1) / len(at)
    sizes = counts.sum(axis=0)
    missing = (counts == 0) & ((1 - share)[:, None] ** sizes < _BY_CHANCE)
    return [
        SystemAbsence(int(system), tuple(int(w) + 1 for w in np.flatnonzero(row)))
        for system, row in zip(systems, missing, strict=True)
        if row.any()
    ]


def _mean_jaccard(exposure: FloatArray) -> float | None:
    if len(exposure) < 2:
        return None
    # Groups that heard the same are compared once, however many they are.
    sets, times = np.unique(exposure, axis=0, return_counts=True)
    both = sets @ sets.T
    n = sets.sum(axis=1)
    alike = both / (n[:, None] + n[None, :] - both)
    pairs = np.outer(times, times).astype(np.float64)
    np.fill_diagonal(pairs, times * (times - 1))
    return float((alike * pairs).sum() / pairs.sum())


# Sittings: runs of one rater's ratings without a long break.


# After so many seconds a rater has sat down anew.
SESSION_BREAK_S = 1800.0


def rating_sessions(rater: IntArray, at: FloatArray) -> IntArray:
    """(n,) the number of each rating's sitting, of ratings with a known rater at some second; in any order."""
    order = np.lexsort((at, rater))
    anew = np.ones(len(rater), dtype=np.bool_)
    anew[1:] = (np.diff(rater[order]) != 0) | (np.diff(at[order]) > SESSION_BREAK_S)
    session = np.empty(len(rater), dtype=np.int64)
    session[order] = np.cumsum(anew) - 1
    return session
