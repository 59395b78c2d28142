"""The course of a study: judgments over time, the recent pace, the most disputed tasks, and why tasks were skipped.

Each takes a scan, so they are computed in the background with the other figures and stored as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from analytics.browse import summaries
from analytics.data.disagreement import ComparedQuestions, UnitDisagreement
from analytics.data.postgres import fetch_rows
from analytics.judgments.skips import skips_by_reason
from analytics.models.browse import UNKNOWN
from annotation.models import Item, Judgment, Study, Task
from annotation.rating import counted

# The pace is that of so many days: older judgments predict the next week poorly.
PACE_DAYS = 7
MOST_DISPUTED = 5
# A curve has at most about so many points: hours up to three days, days up to a year, weeks beyond.
_BUCKETS = (("hour", timedelta(days=3)), ("day", timedelta(days=366)))

_SPAN = f"""
SELECT min(j.submitted_at), max(j.submitted_at) FROM annotation_judgment j
WHERE j.study_id = %(study)s AND {counted.COUNTED}
"""
_CURVE = f"""
SELECT date_trunc(%(bucket)s, j.submitted_at AT TIME ZONE 'UTC') AS bucket, count(*)
FROM annotation_judgment j WHERE j.study_id = %(study)s AND {counted.COUNTED}
GROUP BY bucket ORDER BY bucket
"""
# Imported judgments came all at once: they are no pace.
_PACE = f"""
SELECT count(*), min(j.submitted_at) FROM annotation_judgment j
WHERE j.study_id = %(study)s AND {counted.COUNTED} AND j.origin <> {Judgment.Origin.IMPORTED:d}
  AND j.submitted_at > %(since)s
"""
# In the order of the table of tasks (`analytics.browse.summaries`), and of the regular ones only.
_DISPUTED_TASKS = f"""
SELECT s.task_id, s.item_id, s.disagreement FROM analytics_tasksummary s
WHERE s.study_id = %(study)s AND s.kind = {Task.Kind.REGULAR:d} AND coalesce(s.disagreement, {UNKNOWN}) > 0
ORDER BY coalesce(s.disagreement, {UNKNOWN}) DESC, s.task_id DESC LIMIT {4 * MOST_DISPUTED}
"""
_CANDIDATE_SYSTEMS = """
SELECT c.id, s.name FROM annotation_candidate c JOIN annotation_system s ON s.id = c.system_id
WHERE c.id = ANY(%(candidates)s)
"""


@dataclass(frozen=True)
class Disputed:
    """A task on which raters differ; `spread`: how far (`analytics.data.disagreement`). They do so most in `question`
    (about one candidate of it, `system`), which `n` of them answered."""

    question: str
    item_id: int
    item: str
    task_id: int
    system: str | None
    n: int
    spread: float


@dataclass(frozen=True)
class Course:
    """`points`: how many judgments that count came in each `bucket` ("hour", "day", "week"), oldest first.

    recent: judgments submitted here within the last days, `days` of them (less where the study is younger).
    """

    bucket: str
    points: tuple[tuple[datetime, int], ...]
    recent: int
    days: float
    disputed: tuple[Disputed, ...]
    skips: tuple[tuple[str, int], ...]

    @property
    def total(self) -> int:
        return sum(n for _at, n in self.points)

    @property
    def per_day(self) -> float | None:
        """The recent pace; None where nothing came in the last days."""
        return self.recent / self.days if self.recent and self.days else None

    def days_left(self, n_missing: int) -> float | None:
        return n_missing / self.per_day if self.per_day and n_missing > 0 else None


def course_json(study: Study) -> dict[str, Any]:
    """As it is stored; `course_from_json` reads it."""
    now = timezone.now()
    bucket, points = _curve(study)
    recent, days = _pace(study, now)
    return {
        "bucket": bucket,
        "points": [[at.isoformat(), n] for at, n in points],
        "recent": recent,
        "days": days,
        "disputed": [vars(one) for one in most_disputed(study)],
        "skips": [list(row) for row in skips_by_reason(study)],
    }


def course_from_json(stored: Mapping[str, Any]) -> Course | None:
    """None until computed."""
    if (course := stored.get("course")) is None:
        return None
    return Course(
        bucket=course["bucket"],
        points=tuple((datetime.fromisoformat(at), n) for at, n in course["points"]),
        recent=course["recent"],
        days=course["days"],
        disputed=tuple(Disputed(**one) for one in course["disputed"]),
        skips=tuple((reason, n) for reason, n in course["skips"]),
    )


def _curve(study: Study) -> tuple[str, list[tuple[datetime, int]]]:
    ((first, last),) = fetch_rows(_SPAN, study=study.pk)
    if first is None:
        return "day", []
    bucket = next((name for name, longest in _BUCKETS if last - first <= longest), "week")
    return bucket, [(at, n) for at, n in fetch_rows(_CURVE, study=study.pk, bucket=bucket)]


def _pace(study: Study, now: datetime) -> tuple[int, float]:
    ((n, first),) = fetch_rows(_PACE, study=study.pk, since=now - timedelta(days=PACE_DAYS))
    if not n:
        return 0, 0.0
    # A study of an hour has no pace per day yet: at least a quarter of one is assumed.
    return n, max(0.25, (now - first).total_seconds() / 86400)


def most_disputed(study: Study) -> list[Disputed]:
    """The items on which raters differ most, each by the task and the question where they do."""
    summaries.freshen(study)
    by_item: dict[int, tuple[int, float]] = {}
    for task, item, disagreement in fetch_rows(_DISPUTED_TASKS, study=study.pk):
        by_item.setdefault(item, (task, disagreement))
    chosen = [(task, item, value) for item, (task, value) in by_item.items()][:MOST_DISPUTED]
    units: dict[int, UnitDisagreement] = {}
    for unit in ComparedQuestions(study).units([task for task, _item, _value in chosen]):
        if unit.task not in units or unit.disagreement > units[unit.task].disagreement:
            units[unit.task] = unit
    candidates = [unit.candidate for unit in units.values()]
    systems = dict(fetch_rows(_CANDIDATE_SYSTEMS, candidates=candidates))
    names = Item.objects.in_bulk([item for _task, item, _value in chosen])
    return [
        Disputed(
            units[task].question, item, names[item].external_id, task, systems.get(units[task].candidate),
            units[task].n, value,
        )
        for task, item, value in chosen if task in units
    ]  # fmt: skip
