"""Study overview: progress from counters, raters, and the figures as last computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Sum

from analytics.data import known_answer_trials
from analytics.data.known_answer_trials import AbxReport, Discrimination
from analytics.data.value_counts import HistogramBar
from analytics.overview import figures
from analytics.overview.course import Course, course_from_json
from analytics.overview.figures import StoppedEarly, SystemMean, SystemWins
from analytics.statistics.raters.screening import ScreenedListener
from annotation.models import Rater, Study

RATERS_PER_PAGE = 50
_RATER_COLUMNS = (
    "pseudonym", "origin", "state", "n_judgments", "n_surplus", "n_skips", "last_judgment_at",
)  # fmt: skip


@dataclass(frozen=True)
class Progress:
    """Valid judgments are the standing ones that are neither excluded nor surplus.

    wanted: over all tasks; None until first computed.
    """

    items: int
    tasks: int
    tasks_complete: int
    judgments: int
    judgments_wanted: int | None
    surplus: int
    skips: int
    raters: int

    @property
    def share(self) -> float | None:
        """Of the judgments wanted, 0 to 1."""
        return min(1.0, self.judgments / self.judgments_wanted) if self.judgments_wanted else None


@dataclass(frozen=True)
class RaterRow:
    """`name`: the account behind the pseudonym, for those who run the study; empty where there is none."""

    pseudonym: str
    origin: str
    state: str
    n_judgments: int
    n_surplus: int
    n_skips: int
    last_judgment_at: datetime | None
    screened: ScreenedListener | None
    discriminates: Discrimination | None
    name: str = ""


@dataclass(frozen=True)
class RaterPage:
    """`next_after` is the `after` of the next page; None on the last."""

    rows: tuple[RaterRow, ...]
    next_after: str | None


@dataclass(frozen=True)
class QuestionOverview:
    """`agreement` is what `manage.py agreement --json` prints for the question."""

    key: str
    title: str
    kind: str
    level: str
    agreement: Mapping[str, Any]
    histogram: tuple[HistogramBar, ...]
    means: tuple[SystemMean, ...]
    wins: tuple[SystemWins, ...]


@dataclass(frozen=True)
class StudyOverview:
    """`computed_at`: when questions, codes and judgments wanted were computed; None before the first time."""

    progress: Progress
    raters: RaterPage
    questions: tuple[QuestionOverview, ...]
    codes: tuple[tuple[str, int], ...]
    computed_at: datetime | None
    abx: AbxReport | None = None
    stopped_early: StoppedEarly | None = None
    course: Course | None = None

    @property
    def has_trials(self) -> bool:
        """Whether trials with a known answer tell something about raters."""
        return self.abx is not None or any(row.screened for row in self.raters.rows)


def study_overview(study: Study, *, raters_after: str = "") -> StudyOverview:
    """By four queries, whatever the size of the study."""
    current = figures.current_figures(study)
    abx = known_answer_trials.abx_from_json(current.overview)
    return StudyOverview(
        progress=_progress(study, judgments_wanted=current.overview.get("judgments_wanted")),
        raters=rater_page(
            study,
            after=raters_after,
            listeners=known_answer_trials.screening_from_json(current.overview),
            discriminations={one.name: one for one in abx.raters} if abx else {},
        ),
        questions=tuple(
            _question_overview(stored, current.agreement[stored["key"]])
            for stored in current.overview.get("questions", ())
        ),
        codes=tuple((code, n) for code, n in current.overview.get("codes", ())),
        computed_at=current.computed_at,
        abx=abx,
        stopped_early=figures.stopping_from_json(current.overview),
        course=course_from_json(current.overview),
    )


def rater_page(
    study: Study,
    *,
    after: str,
    listeners: Mapping[str, ScreenedListener],
    discriminations: Mapping[str, Discrimination],
) -> RaterPage:
    """Raters by pseudonym, from the one after `after`, with what trials of known answer told about each."""
    raters = Rater.objects.filter(study=study, pseudonym__gt=after).order_by("pseudonym")
    rows = tuple(
        RaterRow(
            **{column: row[column] for column in _RATER_COLUMNS},
            name=row["user__name"] or row["user__email"] or "",
            screened=listeners.get(row["pseudonym"]),
            discriminates=discriminations.get(row["pseudonym"]),
        )
        for row in raters.values(*_RATER_COLUMNS, "user__name", "user__email")[: RATERS_PER_PAGE + 1]
    )
    next_after = rows[RATERS_PER_PAGE - 1].pseudonym if len(rows) > RATERS_PER_PAGE else None
    return RaterPage(rows[:RATERS_PER_PAGE], next_after)


def _progress(study: Study, *, judgments_wanted: int | None) -> Progress:
    sums = Rater.objects.filter(study=study).aggregate(
        raters=Count("id"),
        judgments=Sum("n_judgments", default=0),
        filled=Sum("n_tasks_filled", default=0),
        surplus=Sum("n_surplus", default=0),
        skips=Sum("n_skips", default=0),
    )
    return Progress(
        items=study.n_items,
        tasks=study.n_tasks,
        tasks_complete=sums["filled"] + study.n_unnamed_tasks_filled,
        judgments=sums["judgments"] + study.n_unnamed_judgments,
        judgments_wanted=judgments_wanted,
        surplus=sums["surplus"],
        skips=sums["skips"],
        raters=sums["raters"],
    )


def _question_overview(stored: Mapping[str, Any], agreement: Mapping[str, Any]) -> QuestionOverview:
    return QuestionOverview(
        key=stored["key"],
        title=agreement["title"],
        kind=agreement["kind"],
        level=agreement["level"],
        agreement=agreement,
        histogram=tuple((label, n) for label, n in stored["histogram"]),
        means=tuple(SystemMean(**one) for one in stored["means"]),
        wins=tuple(SystemWins(**one) for one in stored["wins"]),
    )
