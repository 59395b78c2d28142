"""How many judgments a study has, and what became of each: counted, or left out for which reason."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection

from annotation.models import Exclusion, Judgment, Study, Task

COUNTED, EXCLUDED, SUPERSEDED, SURPLUS, EXPERT = "counted", "excluded", "superseded", "surplus", "expert"

# The first that applies; a judgment that somebody excluded and that is a rater's own earlier one is not counted twice.
_FATES = f"""
SELECT CASE WHEN j.origin = {Judgment.Origin.EXPERT:d} THEN '{EXPERT}'
            WHEN t.kind = {Task.Kind.TRAINING:d} THEN 'training' WHEN t.kind = {Task.Kind.GOLD:d} THEN 'gold'
            WHEN t.kind = {Task.Kind.TRAP:d} THEN 'trap' WHEN t.kind = {Task.Kind.REPEAT:d} THEN 'repeat'
            WHEN j.surplus THEN '{SURPLUS}' WHEN NOT j.effective THEN '{SUPERSEDED}'
            WHEN j.excluded THEN '{EXCLUDED}' ELSE '{COUNTED}' END AS fate,
       CASE WHEN j.excluded THEN coalesce(
           (SELECT x.reason FROM annotation_exclusion x
            WHERE x.judgment_id = j.id AND x.action = '{Exclusion.Action.EXCLUDE}' ORDER BY x.id DESC LIMIT 1), '')
            ELSE '' END AS reason,
       count(*)
FROM annotation_judgment j JOIN annotation_task t ON t.id = j.task_id
WHERE j.study_id = %(study)s
      AND NOT EXISTS (SELECT FROM annotation_raterwithdrawal w WHERE w.rater_id = j.rater_id)
GROUP BY fate, reason
"""

_COUNTS = f"""
    j.effective AND NOT j.excluded AND NOT j.surplus AND j.origin <> {Judgment.Origin.EXPERT:d}
"""
# Each rater's and each task's first such judgment is found by index; counting distinct ones would sort every judgment.
_MATERIAL = f"""
SELECT (SELECT count(*) FROM annotation_item i WHERE i.study_id = %(study)s),
       (SELECT count(*) FROM annotation_task t WHERE t.study_id = %(study)s AND t.kind = {Task.Kind.REGULAR:d}),
       (SELECT count(*) FROM annotation_task t WHERE t.study_id = %(study)s AND t.kind = {Task.Kind.REGULAR:d}
        AND EXISTS (SELECT 1 FROM annotation_judgment j WHERE j.task_id = t.id AND {_COUNTS})),
       (SELECT count(*) FROM annotation_system s WHERE s.study_id = %(study)s),
       (SELECT count(*) FROM annotation_rater r WHERE r.study_id = %(study)s AND EXISTS (
            SELECT 1 FROM annotation_judgment j JOIN annotation_task t ON t.id = j.task_id
            WHERE j.rater_id = r.id AND t.kind = {Task.Kind.REGULAR:d} AND {_COUNTS}))
"""


@dataclass(frozen=True)
class Fate:
    """`reason`: of an exclusion, a code of `rules.review.EXCLUSIONS` or what somebody wrote."""

    fate: str
    reason: str
    n: int


@dataclass(frozen=True)
class MaterialCounts:
    """tasks: regular ones, `judged` of them with a judgment that counts. raters: named ones whose judgments count."""

    items: int
    tasks: int
    judged: int
    systems: int
    raters: int


def fates(study: Study) -> list[Fate]:
    """By name of the fate and reason."""
    with connection.cursor() as cursor:
        cursor.execute(_FATES, {"study": study.pk})
        return sorted((Fate(*row) for row in cursor.fetchall()), key=lambda one: (one.fate, one.reason))


def material_counts(study: Study) -> MaterialCounts:
    with connection.cursor() as cursor:
        cursor.execute(_MATERIAL, {"study": study.pk})
        return MaterialCounts(*cursor.fetchone())
