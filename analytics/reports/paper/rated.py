"""A question's ratings with all that the sections on ratings say about them, read once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from analytics import remark_frames, review_frames
from analytics.questions import MeasuredQuestion, scale_ends, screening_questions
from analytics.remark_frames import Remarks
from analytics.reports.paper.material import Material, ReportSettings
from analytics.reports.trials import screened
from analytics.review_frames import SystemAnswers
from analytics.statistics.mean_opinion import Ratings
from analytics.statistics.screening import Screened
from analytics.vote_frames import NOBODY, Votes
from annotation.models import System

NO_REMARKS = Remarks(*(np.zeros(0, dtype=np.int64) for _ in range(3)))


def _unnamed(item_ids: Iterable[int]) -> dict[int, str]:
    return {one: str(one) for one in item_ids}


@dataclass(frozen=True, eq=False)
class Rated:
    """`votes`: all, with their marks; `ratings`: of those counted, items being prompts with all that belongs to them.

    ends: of the scale, None where it has none. answers: lengths of the systems' answers, by name. roles: of systems
    that are not judged themselves, by name. listeners: those who rated a hidden reference or a mid anchor on a MUSHRA
    scale, by name. item_names: from database ids.
    """

    votes: Votes
    settings: ReportSettings
    ends: tuple[float, float] | None = None
    answers: Mapping[str, SystemAnswers] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    listeners: Mapping[str, Screened] = field(default_factory=dict)
    remarks: Remarks = NO_REMARKS
    item_names: Callable[[Iterable[int]], Mapping[int, str]] = _unnamed

    @cached_property
    def counted(self) -> Votes:
        return self.votes.counted()

    @cached_property
    def ratings(self) -> Ratings:
        votes = self.counted
        units, unit = votes.units, votes.unit
        return Ratings(units.first[unit], unit, units.prompt[unit], votes.rater, votes.value)

    @property
    def question(self) -> MeasuredQuestion:
        return self.votes.question

    @property
    def level(self) -> float:
        return self.settings.resampling.level

    @property
    def named(self) -> int:
        """How many raters are known by name."""
        return len(np.unique(self.ratings.rater[self.ratings.rater != NOBODY]))

    @property
    def all_named(self) -> bool:
        return len(self.ratings) > 0 and self.ratings.raters is not None

    def key(self, what: str) -> str:
        """Of a table or figure of this question."""
        return f"ratings-{what}-{self.question.key}"


def rated(material: Material, votes: Votes) -> Rated:
    question, study = votes.question, material.study
    screens = set(question.ids) & set(screening_questions(study))
    others = System.objects.filter(study=study).exclude(role=System.Role.JUDGED)
    return Rated(
        votes=votes,
        settings=material.settings,
        ends=scale_ends(question),
        answers={row.system: row for row in review_frames.system_answers(question)},
        roles={system.name: str(system.get_role_display()) for system in others},
        listeners=screened(study) if screens else {},
        remarks=remark_frames.remarks(study),
        item_names=remark_frames.names_of_items,
    )
