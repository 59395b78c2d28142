"""The votes of a preference question as the statistics of pairs take them: who was shown first, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from analytics.reports.paper.readings import for_agreement
from analytics.statistics.distinct_rows import IntArray
from analytics.statistics.ranking_counts import BOTH_BAD, FIRST, SECOND, TIE, Comparisons, count_comparisons
from analytics.vote_frames import NOBODY, BoolArray, Votes
from annotation.models import Answer

RATER, PROMPT = "rater", "prompt"

_OUTCOMES = {
    Answer.Choice.FIRST: FIRST,
    Answer.Choice.SECOND: SECOND,
    Answer.Choice.TIE: TIE,
    Answer.Choice.BOTH_BAD: BOTH_BAD,
}


@dataclass(frozen=True, eq=False)
class PairVotes:
    """Votes on pairs, of which those on two different systems can rank them.

    `comparisons` has them in the order shown; where that is unknown, as listed. It knows only systems with votes.
    """

    votes: Votes

    @cached_property
    def decided(self) -> BoolArray:
        """Which votes prefer one side."""
        return np.isin(self.votes.value, [float(Answer.Choice.FIRST), float(Answer.Choice.SECOND)])

    @cached_property
    def second(self) -> BoolArray:
        """Which votes prefer the candidate that is listed second."""
        return np.asarray(self.votes.value == float(Answer.Choice.SECOND))

    @cached_property
    def order_known(self) -> BoolArray:
        return np.asarray(self.votes.shown_first != NOBODY)

    @cached_property
    def preferred_first(self) -> BoolArray:
        """Which votes prefer what was shown first; holds for decided votes whose order is known."""
        return np.asarray((self.votes.shown_first == 1) == self.second)

    @cached_property
    def ranks_systems(self) -> BoolArray:
        units = self.votes.units
        told = (units.first != NOBODY) & (units.second != NOBODY) & (units.first != units.second)
        return np.asarray(told[self.votes.unit])

    @property
    def unnamed(self) -> int:
        return int((self.votes.rater == NOBODY).sum())

    @property
    def clusterings(self) -> tuple[str, ...]:
        """What can be resampled for an interval. Raters only where every vote names one; the first leads."""
        return (PROMPT,) if self.unnamed else (RATER, PROMPT)

    @property
    def leading(self) -> str:
        return self.clusterings[0]

    def clusters(self, by: str) -> IntArray:
        """The number of each vote's rater or prompt."""
        return self.votes.rater if by == RATER else self.votes.units.prompt[self.votes.unit]

    @cached_property
    def comparisons(self) -> Comparisons:
        return self._counted(self.ranks_systems)

    @cached_property
    def ordered_comparisons(self) -> Comparisons:
        """Of the votes whose order is known, which alone can tell what it is worth to be shown first."""
        return self._counted(self.ranks_systems & self.order_known)

    @cached_property
    def first_votes(self) -> PairVotes:
        """Where more votes are asked for while they differ, the first ones of each comparison; else all.

        The later ones come where people differ: with them, neither agreement nor which system is better is what all
        comparisons would show."""
        return self if self.votes.question.first_votes is None else PairVotes(for_agreement(self.votes))

    def select(self, mask: BoolArray) -> PairVotes:
        return PairVotes(self.votes.select(mask))

    def _counted(self, mask: BoolArray) -> Comparisons:
        chosen = self.votes.select(mask)
        first, second = chosen.units.first[chosen.unit], chosen.units.second[chosen.unit]
        outcome = np.select([chosen.value == choice for choice in _OUTCOMES], list(_OUTCOMES.values()))
        swapped = chosen.shown_first == 1
        turned = np.select([outcome == FIRST, outcome == SECOND], [SECOND, FIRST], outcome)
        present = np.unique(np.concatenate([first, second]))
        first, second = np.searchsorted(present, first), np.searchsorted(present, second)
        return count_comparisons(
            [chosen.systems[system] for system in present],
            np.where(swapped, second, first),
            np.where(swapped, first, second),
            np.where(swapped, turned, outcome),
            confidence=chosen.confidence,
            clusters={by: self.clusters(by)[mask] for by in self.clusterings},
        )
