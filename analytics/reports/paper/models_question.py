"""One question with those that scored what it asks about: what every table on models is made from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from django.utils.translation import gettext as _

from analytics.questions import MeasuredQuestion
from analytics.reports.document import Column
from analytics.reports.paper.models_scores import Contender, ScoredBy
from analytics.reports.paper.readings import for_agreement
from analytics.statistics.bootstrap import Resampling
from analytics.statistics.distinct_rows import FloatArray
from analytics.vote_frames import Votes


@dataclass(frozen=True, eq=False)
class Asked:
    """`votes`: those that count. contenders: the outputs that are held against this question, one or two a scorer."""

    votes: Votes
    scored: Sequence[ScoredBy]
    contenders: Sequence[Contender]
    resampling: Resampling

    @property
    def question(self) -> MeasuredQuestion:
        return self.votes.question

    @property
    def first_votes(self) -> Votes:
        """All, or the first of each unit where later ones came because these differed: how far people agree, and in
        which shares they vote, is told by these alone. They are about the same things as all the votes."""
        return for_agreement(self.votes)

    def first_votes_note(self) -> list[str]:
        """Said where a table rests on them and they are not all."""
        if self.question.first_votes is None:
            return []
        text = _("The first %(n)s votes on each, since more were asked for while these differed.")
        return [text % {"n": self.question.first_votes}]

    @property
    def named(self) -> dict[str, str]:
        return {"question": self.question.title}

    def key(self, table: str) -> str:
        return f"models_{self.question.key}_{table}"

    def with_scores(self, scores: Callable[[Contender], FloatArray]) -> Asked | None:
        """Without those that have no score of anything people judged; None where nobody is left."""
        left = [one for one in self.contenders if np.isfinite(scores(one)).any()]
        return replace(self, contenders=left) if left else None

    def varying(self, scores: Callable[[Contender], FloatArray]) -> list[Contender]:
        """Those whose scores differ: one that says the same of everything is told once, not for every part."""
        return [one for one in self.contenders if _varies(scores(one))]

    def by_column(self) -> Column:
        return Column("by", _("By"))

    def part_column(self) -> Column:
        return Column("part", _("Part"))

    def statistic_column(self) -> Column:
        return Column("statistic", _("Statistic"))


def _varies(scores: FloatArray) -> bool:
    known = scores[np.isfinite(scores)]
    return len(known) > 0 and bool((known != known[0]).any())


def asked_with(votes: Votes, scored: Sequence[ScoredBy], resampling: Resampling) -> Asked:
    contenders = [one for each in scored for one in each.for_question(votes.question)]
    return Asked(votes, scored, contenders, resampling)
