"""The course of a study: judgments over time, the recent pace, the most disputed tasks, and why tasks were skipped.

Each takes a scan, so they are computed in the background with the other figures and stored as JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from analytics.data.counted_judgments import COUNTED_ANSWERS_SQL
from analytics.data.postgres import fetch_rows
from analytics.data.questions import MeasuredQuestion
from analytics.judgments.skips import skips_by_reason
from annotation.models import Answer, Judgment, Study
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
# How far the answers to one unit lie apart, from 0 to 1: twice the share outside the majority, or the standard
# deviation in halves of the scale (which no answers can exceed).
_DISPUTED = f"""
WITH unit AS (
    SELECT a.task_id, a.candidate_id, count(*) AS n, {{spread}} AS spread
    {COUNTED_ANSWERS_SQL} AND {{value}} IS NOT NULL
    GROUP BY a.task_id, a.candidate_id HAVING count(*) >= 2
)
SELECT v.item_id, i.external_id, t.id, s.name, unit.n, unit.spread
FROM (SELECT * FROM unit WHERE spread > 0 ORDER BY spread DESC, n DESC, task_id LIMIT {4 * MOST_DISPUTED}) unit
JOIN annotation_task t ON t.id = unit.task_id
JOIN annotation_itemversion v ON v.id = t.item_version_id
JOIN annotation_item i ON i.id = v.item_id
LEFT JOIN annotation_candidate c ON c.id = unit.candidate_id
LEFT JOIN annotation_system s ON s.id = c.system_id
ORDER BY unit.spread DESC, unit.n DESC, t.id
"""
_VOTES = ", ".join(f"count(*) FILTER (WHERE a.choice = {choice})" for choice in Answer.Choice.values)
_SHARE_OUTSIDE_MAJORITY = f"least(1, 2 - 2 * greatest({_VOTES})::float8 / count(*))"


@dataclass(frozen=True)
class Disputed:
    """A task (or one candidate of it, `system`) whose answers to one question lie far apart."""

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


def course_json(study: Study, questions: Sequence[MeasuredQuestion]) -> dict[str, Any]:
    """As it is stored; `course_from_json` reads it."""
    now = timezone.now()
    bucket, points = _curve(study)
    recent, days = _pace(study, now)
    disputed = [one for question in questions for one in _disputed(question)]
    disputed.sort(key=lambda one: (-one.spread, -one.n, one.task_id))
    return {
        "bucket": bucket,
        "points": [[at.isoformat(), n] for at, n in points],
        "recent": recent,
        "days": days,
        "disputed": [vars(one) for one in _once_per_item(disputed)],
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


def _disputed(question: MeasuredQuestion) -> list[Disputed]:
    if question.is_preference:
        column, spread = "choice", _SHARE_OUTSIDE_MAJORITY
    elif question.width:
        column, spread = "value", f"2 * stddev_pop(a.value) / {float(question.width)!r}"
    else:
        return []
    sql = _DISPUTED.format(spread=spread, value=f"a.{column}")
    rows = fetch_rows(sql, questions=list(question.ids), study=question.study_id)
    return [
        Disputed(question.key, item_id, item, task_id, system, n, round(float(far), 4))
        for item_id, item, task_id, system, n, far in rows
    ]


def _once_per_item(disputed: Iterable[Disputed]) -> list[Disputed]:
    first: dict[int, Disputed] = {}
    for one in disputed:
        first.setdefault(one.item_id, one)
    return list(first.values())[:MOST_DISPUTED]
