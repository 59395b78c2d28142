"""Ratings of one question, read once for all sections: values, raters, systems, prompts; and their distribution."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from django.utils.translation import gettext as _

from analytics.data import items, review, value_counts
from analytics.data.known_answer_trials import screened_raters
from analytics.data.questions import MeasuredQuestion, scale_ends, screening_questions
from analytics.data.review import SystemAnswers
from analytics.data.value_counts import Remarks
from analytics.data.votes import COUNTED, EXCLUDED_BY_REVIEW, NOBODY, Votes
from analytics.reports.document import Block, Cell, Column, Figure, Table
from analytics.reports.render.bars import paired_bars, stacked_bars, value_bars
from analytics.reports.sections.material import ReportData, ReportSettings
from analytics.statistics.arrays import IntArray
from analytics.statistics.bins import RatingBins, rating_bins
from analytics.statistics.raters.screening import ScreenedListener
from analytics.statistics.ratings.mean_opinion import Ratings
from annotation.models import System

NO_REMARKS = Remarks(*(np.zeros(0, dtype=np.int64) for _ in range(3)))


def _unnamed(item_ids: Iterable[int]) -> dict[int, str]:
    return {one: str(one) for one in item_ids}


@dataclass(frozen=True, eq=False)
class QuestionRatings:
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
    listeners: Mapping[str, ScreenedListener] = field(default_factory=dict)
    remarks: Remarks = NO_REMARKS
    item_names: Callable[[Iterable[int]], Mapping[int, str]] = _unnamed

    @cached_property
    def counted(self) -> Votes:
        return self.votes.counted()

    @cached_property
    def ratings(self) -> Ratings:
        return ratings_of(self.counted)

    @property
    def question(self) -> MeasuredQuestion:
        return self.votes.question

    @property
    def title_params(self) -> dict[str, str]:
        return {"question": self.question.title}

    @property
    def level(self) -> float:
        return self.settings.resampling.level

    @property
    def n_named_raters(self) -> int:
        """How many raters are known by name."""
        return len(np.unique(self.ratings.rater[self.ratings.rater != NOBODY]))

    @property
    def all_named(self) -> bool:
        return len(self.ratings) > 0 and self.ratings.raters is not None

    @property
    def has_severity(self) -> bool:
        """Whether the raters' own use of the scale can be taken out: all are named, and there are several."""
        return self.all_named and self.n_named_raters > 1

    def key(self, what: str) -> str:
        """Of a table or figure of this question."""
        return f"ratings-{what}-{self.question.key}"


def ratings_of(votes: Votes) -> Ratings:
    units, unit = votes.units, votes.unit
    return Ratings(units.first[unit], unit, units.prompt[unit], votes.rater, votes.value)


def load_ratings(material: ReportData, votes: Votes) -> QuestionRatings:
    question, study = votes.question, material.study
    screens = set(question.ids) & set(screening_questions(study))
    others = System.objects.filter(study=study).exclude(role=System.Role.JUDGED)
    return QuestionRatings(
        votes=votes,
        settings=material.settings,
        ends=scale_ends(question),
        answers={row.system: row for row in review.system_answers(question)},
        roles={system.name: str(system.get_role_display()) for system in others},
        listeners=screened_raters(study) if screens else {},
        remarks=value_counts.remarks_by_task(study),
        item_names=items.item_external_ids,
    )


def distribution_blocks(rated: QuestionRatings, order: list[int]) -> Iterator[Block]:
    """`order`: the systems as the other tables list them."""
    before, after = before_review_blocks(rated.votes), rated.counted
    bins = rating_bins(
        np.concatenate([before.value, after.value]), points=rated.question.points, ends=rated.ends
    )
    if not bins.labels:
        return
    yield _histogram(rated, bins, before)
    rows = [(_("All"), bins.counts(after.value))]
    if len(order) > 1:
        of = rated.ratings.system
        rows += [(rated.votes.systems[one], bins.counts(after.value[of == one])) for one in order]
    yield _table(rated, bins, rows)
    if len(rows) > 1:
        title = _("Shares of ratings by system: %(question)s") % rated.title_params
        svg = stacked_bars(title, bins.labels, [(name, n.tolist()) for name, n in rows])
        yield Figure(rated.key("shares"), title, svg)


def before_review_blocks(votes: Votes) -> Votes:
    """What raters said of the texts that the review found, whether it keeps it or not."""
    standing = np.isin(votes.status, [COUNTED, EXCLUDED_BY_REVIEW])
    return votes.select(standing & ~votes.again & ~votes.units.corrected[votes.unit])


def reviewed(votes: Votes) -> bool:
    """Whether the review kept out a vote, or a vote is about what a correction made."""
    return bool((votes.status == EXCLUDED_BY_REVIEW).any() or votes.units.corrected[votes.unit].any())


def _histogram(rated: QuestionRatings, bins: RatingBins, before: Votes) -> Figure:
    after = bins.counts(rated.ratings.value).tolist()
    if not reviewed(rated.votes):
        title = _("How often each value was given: %(question)s") % rated.title_params
        svg = value_bars(title, list(zip(bins.labels, after, strict=True)))
    else:
        title = (
            _("How often each value was given, before and after the review: %(question)s")
            % rated.title_params
        )
        rows = list(zip(bins.labels, bins.counts(before.value).tolist(), after, strict=True))
        svg = paired_bars(title, (_("Before the review"), _("After the review")), rows)
    return Figure(rated.key("values"), title, svg)


def _table(rated: QuestionRatings, bins: RatingBins, rows: list[tuple[str, IntArray]]) -> Table:
    columns = [
        Column("system", _("System")),
        Column("ratings", _("Ratings"), "count"),
        *(Column(f"n_{label}", label, "count") for label in bins.labels),
    ]
    cells: list[list[Cell]] = [[name, int(n.sum()), *map(int, n)] for name, n in rows]
    notes = []
    if reviewed(rated.votes):
        notes.append(_("Ratings that count now, after the review."))
    if bins.ranges:
        notes.append(_("A range holds its lower end; the last one holds both ends."))
    title = _("Ratings by value: %(question)s") % rated.title_params
    return Table(rated.key("distribution"), title, columns, cells, notes)
