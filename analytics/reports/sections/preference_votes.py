"""Preference votes as the ranking statistics take them: units, clusters, and notes that several tables share."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from django.utils.translation import gettext, ngettext

from analytics.data.postgres import BoolArray
from analytics.data.votes import NOBODY, Votes
from analytics.reports.agreement import votes_for_agreement
from analytics.reports.document import Column, Kind, Measured
from analytics.reports.reasons import RANKING, measured
from analytics.reports.sections.material import join_sentences
from analytics.statistics.arrays import IntArray
from analytics.statistics.bootstrap import Resampling
from analytics.statistics.intervals import FEWEST_CLUSTERS, Share
from analytics.statistics.ranking.comparisons import (
    BOTH_BAD,
    FIRST,
    SECOND,
    TIE,
    Comparisons,
    count_comparisons,
)
from annotation.models import Answer

RATER, PROMPT = "rater", "prompt"

_OUTCOMES = {
    Answer.Choice.FIRST: FIRST,
    Answer.Choice.SECOND: SECOND,
    Answer.Choice.TIE: TIE,
    Answer.Choice.BOTH_BAD: BOTH_BAD,
}


@dataclass(frozen=True, eq=False)
class PreferenceVotes:
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
        apart = (units.first != NOBODY) & (units.second != NOBODY) & (units.first != units.second)
        return np.asarray(apart[self.votes.unit])

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
    def first_votes(self) -> PreferenceVotes:
        """Where more votes are asked for while they differ, the first ones of each comparison; else all.

        The later ones come where people differ: with them, neither agreement nor which system is better is what all
        comparisons would show."""
        all_count = self.votes.question.first_votes is None
        return self if all_count else PreferenceVotes(votes_for_agreement(self.votes))

    def select(self, mask: BoolArray) -> PreferenceVotes:
        return PreferenceVotes(self.votes.select(mask))

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


# With fewer of them, expanded intervals of nominal 95 % hold the truth in 90 to 95 %.
_FEW = 10


def measured_share(share: Share) -> Measured:
    return measured(share.value, share.interval, share.reason, RANKING)


def cluster_columns(
    key: str, label: str, clusterings: Collection[str], kind: Kind, digits: int = 2
) -> Iterator[Column]:
    """A column for each way to resample, which its label says where there are several."""
    for by in clusterings:
        text = gettext("%(label)s, by rater") if by == RATER else gettext("%(label)s, by prompt")
        title = label if len(clusterings) == 1 else text % {"label": label}
        yield Column(f"{key}_by_{by}", title, kind, digits)


def first_votes_note(questions: Sequence[PreferenceVotes]) -> list[str]:
    """Said where a table rests on fewer votes than there are."""
    text = gettext(
        "%(question)s The first %(n)s votes of each comparison, since more were asked for while these differed."
    )
    return [
        text % {"question": pairs.votes.question.title, "n": pairs.votes.question.first_votes}
        for pairs in questions
        if pairs.votes.question.first_votes is not None
    ]


def n_clusters(by: str, n: int) -> str:
    if by == RATER:
        return ngettext("%(n)s rater", "%(n)s raters", n) % {"n": f"{n:,}"}
    return ngettext("%(n)s prompt", "%(n)s prompts", n) % {"n": f"{n:,}"}


def resampled(clusters: Sequence[tuple[str, int]], resampling: Resampling) -> str:
    """How intervals were made, of what and how many of it; and what so few of it cannot tell."""
    listed = gettext(", and of ").join(n_clusters(by, n) for by, n in clusters)
    text = gettext(
        "%(level)s intervals: percentiles of %(times)s bootstrap resamples of %(clusters)s, each with all its votes, "
        "expanded for their number (Hesterberg, 2015)."
    )
    sentence = text % {
        "level": f"{100 * resampling.level:g} %",
        "times": f"{resampling.replicates:,}",
        "clusters": listed,
    }
    return join_sentences([sentence, *(_so_few(by, n) for by, n in clusters)])


def _so_few(by: str, n: int) -> str:
    if n < FEWEST_CLUSTERS:
        text = gettext("%(clusters)s cannot say how uncertain a figure is, so there is no interval.")
    elif n < _FEW:
        text = gettext("With %(clusters)s such intervals may still be too narrow.")
    else:
        return ""
    return text % {"clusters": n_clusters(by, n)}
