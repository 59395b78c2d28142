"""Figures kept in step with what raters say, so that opening a page computes nothing."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from analytics.models import AgreementFigure, StudyFigure
from analytics.reports.scan import scan
from annotation.models import Study

# Computing may take this share of the time: a study that takes 15 s is computed every five minutes.
_SHARE = 0.05
_REFRESH_LOCK = 7_303_015
# Right after a large import the planner may know nothing of the new rows and choose a plan that never ends. It is
# stopped here, and the next attempt finds better statistics.
_LONGEST_STATEMENT = "5min"

# The largest judgment id alone would miss a vote that commits after a later one. Raters' counters and the time of
# their last judgment move in the vote's own transaction, so their sums tell of every vote.
_STALE = """
WITH horizon AS (
    SELECT s.id AS study_id, md5(ROW(
        s.protocol_version_id, s.n_tasks, s.n_unnamed_judgments,
        (SELECT max(j.id) FROM annotation_judgment j WHERE j.study_id = s.id),
        (SELECT max(a.id) FROM annotation_auditevent a WHERE a.study_id = s.id),
        (SELECT w.n_asked FROM annotation_stoppingsweep w WHERE w.study_id = s.id),
        r.judgments, r.surplus, r.moments, e.n, e.last
    )::text) AS digest
    FROM annotation_study s
    LEFT JOIN (
        SELECT study_id, sum(n_judgments) AS judgments, sum(n_surplus) AS surplus,
               sum(extract(epoch FROM last_judgment_at)) AS moments
        FROM annotation_rater GROUP BY study_id
    ) AS r ON r.study_id = s.id
    LEFT JOIN (
        SELECT study_id, count(*) AS n, max(id) AS last FROM annotation_exclusion GROUP BY study_id
    ) AS e ON e.study_id = s.id
)
SELECT h.study_id, h.digest, f.computed_at, f.seconds
FROM horizon h LEFT JOIN analytics_studyfigure f ON f.study_id = h.study_id AND f.kind = 'overview'
WHERE f.horizon IS DISTINCT FROM h.digest
ORDER BY h.study_id
"""


@dataclass(frozen=True)
class CurrentFigures:
    """What is stored of a study; empty, with `computed_at` None, until the first computation."""

    agreement: Mapping[str, Mapping[str, Any]]
    overview: Mapping[str, Any]
    computed_at: datetime | None


@dataclass(frozen=True)
class _Stale:
    """A study whose figures are out of date: where its data are now, and the last computation, if any."""

    id: int
    horizon: str
    computed_at: datetime | None
    seconds: float | None

    def may_be_computed(self, now: datetime) -> bool:
        if self.computed_at is None or self.seconds is None:
            return True
        return (now - self.computed_at).total_seconds() * _SHARE >= self.seconds


def current(study: Study) -> CurrentFigures:
    """The stored figures, by two queries. Agreement comes in the order of the questions."""
    stored = StudyFigure.objects.filter(study=study, kind=StudyFigure.Kind.OVERVIEW).first()
    if stored is None:
        return CurrentFigures({}, {}, None)
    results = dict(AgreementFigure.objects.filter(study=study).values_list("question_key", "result"))
    keys = [question["key"] for question in stored.result["questions"]]
    return CurrentFigures({key: results[key] for key in keys}, stored.result, stored.computed_at)


def due() -> list[int]:
    """Studies whose figures are out of date and may be computed again by now."""
    now = timezone.now()
    return [study.id for study in _stale() if study.may_be_computed(now)]


@transaction.atomic
def refresh(study_id: int) -> bool:
    """Compute a study's figures if they are out of date; False where there was nothing to do or somebody is at it."""
    if not _alone(study_id):
        return False
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('statement_timeout', %s, true)", [_LONGEST_STATEMENT])
    # Read before the data: what is said meanwhile makes the figures stale again, never wrongly current.
    horizon = next((study.horizon for study in _stale() if study.id == study_id), None)
    if horizon is None:
        return False
    started, study = time.perf_counter(), Study.objects.get(pk=study_id)
    agreement, overview = scan(study)
    _store(study, agreement, overview, horizon=horizon, seconds=time.perf_counter() - started)
    return True


def _store(
    study: Study, agreement: Mapping[str, Any], overview: Mapping[str, Any], *, horizon: str, seconds: float
) -> None:
    now = timezone.now()
    AgreementFigure.objects.bulk_create(
        (
            AgreementFigure(study=study, question_key=key, result=result, horizon=horizon, computed_at=now)
            for key, result in agreement.items()
        ),
        update_conflicts=True,
        unique_fields=["study", "question_key"],
        update_fields=["result", "horizon", "computed_at"],
    )
    StudyFigure.objects.update_or_create(
        study=study,
        kind=StudyFigure.Kind.OVERVIEW,
        defaults={"result": overview, "horizon": horizon, "seconds": seconds, "computed_at": now},
    )


def _stale() -> list[_Stale]:
    with connection.cursor() as cursor:
        cursor.execute(_STALE)
        return [_Stale(*row) for row in cursor.fetchall()]


def _alone(study_id: int) -> bool:
    """Whether this transaction is the only one at work on the study's figures."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", [_REFRESH_LOCK, study_id])
        return bool(cursor.fetchone()[0])
