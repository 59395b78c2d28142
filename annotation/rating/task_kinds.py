"""Kinds of tasks, changed after the import: regular tasks become gold or training tasks, and back.

A gold or training task needs the answer it expects. One that has none gets what most of its raters answered to the
study's questions, where there is such an answer.

The judgments of a task leave the counters with it, and come back with it. A task that somebody has met as a check stays
one: their answer was given to a check, and a lease that is open now was drawn for one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from django.db.models import F

from annotation.errors import InvalidInput
from annotation.models import Assignment, CheckOutcome, GoldKey, Question, Study, Task, User
from annotation.rating import counted
from annotation.studies import audit
from annotation.studies.protocols import comparable_versions

CHANGEABLE = {kind.name.lower(): kind for kind in (Task.Kind.REGULAR, Task.Kind.GOLD, Task.Kind.TRAINING)}
_WITH_KEY = (Task.Kind.GOLD, Task.Kind.TRAINING)

# Of each question asked once of a task: the answer that more than half of the raters gave, of two raters at least.
_MAJORITY = """
WITH votes AS (
    SELECT a.task_id, q.key, a.choice, a.value, count(*) AS n,
           sum(count(*)) OVER (PARTITION BY a.task_id, q.key) AS total
    FROM annotation_answer a JOIN annotation_question q ON q.id = a.question_id
    WHERE a.task_id = ANY(%(tasks)s) AND a.counted AND a.candidate_id IS NULL AND q.kind = ANY(%(kinds)s)
      AND q.protocol_version_id = ANY(%(versions)s)
      AND coalesce(a.choice, a.value) IS NOT NULL
    GROUP BY a.task_id, q.key, a.choice, a.value
)
SELECT task_id, key, choice, value FROM votes WHERE n >= 2 AND 2 * n > total
"""

# The judgments that count go with their task (sign -1: out of the counters, 1: into them), from raters' regular ones to
# what they did beside. A full task is counted with one of its raters, as everywhere.
_MOVE_COUNTERS = f"""
WITH votes AS (
    SELECT j.task_id, j.rater_id, row_number() OVER (PARTITION BY j.task_id ORDER BY j.id DESC) = 1 AS is_last
    FROM annotation_judgment j WHERE j.task_id = ANY(%(tasks)s) AND {counted.COUNTED}
), counted AS (
    UPDATE annotation_task t SET n_leases = 0, n_judgments = v.n, overlap = greatest(t.overlap, v.n)
    FROM (SELECT t.id, (SELECT count(*) FROM votes WHERE votes.task_id = t.id) AS n
          FROM annotation_task t WHERE t.id = ANY(%(tasks)s)) AS v
    WHERE t.id = v.id
    RETURNING t.id, t.n_judgments >= t.overlap AS is_full
), moves AS (
    SELECT votes.rater_id, count(*) AS n, count(*) FILTER (WHERE votes.is_last AND counted.is_full) AS n_full
    FROM votes JOIN counted ON counted.id = votes.task_id GROUP BY votes.rater_id
), locked AS (
    SELECT r.id FROM annotation_rater r JOIN moves ON moves.rater_id = r.id ORDER BY r.id FOR NO KEY UPDATE OF r
), named AS (
    UPDATE annotation_rater r SET n_judgments = r.n_judgments + %(sign)s * m.n,
        n_checks = greatest(0, r.n_checks - %(sign)s * m.n), n_tasks_filled = r.n_tasks_filled + %(sign)s * m.n_full
    FROM moves m JOIN locked ON locked.id = m.rater_id WHERE r.id = m.rater_id
)
SELECT n, n_full FROM moves WHERE rater_id IS NULL
"""


@dataclass(frozen=True)
class KindOutcome:
    """`without_key`: tasks that were left as they were, as nobody knows what they expect. `met`: those that stay
    checks, as raters have met them as such."""

    changed: int
    unchanged: int
    without_key: int
    met: int = 0


@transaction.atomic
def set_kind(study: Study, task_ids: Collection[int], *, kind: str, actor: User | None) -> KindOutcome:
    """Traps and repeats stay what they are. Figures rest on regular tasks, so this changes them."""
    if kind not in CHANGEABLE:
        raise InvalidInput.of_field("kind", f"Choose one of {', '.join(CHANGEABLE)}.")
    new_kind = CHANGEABLE[kind]
    _lock_from_leases(task_ids)
    tasks = Task.objects.filter(study=study, pk__in=task_ids, kind__in=CHANGEABLE.values())
    ids = list(tasks.exclude(kind=new_kind).order_by("pk").values_list("pk", flat=True))
    known = _give_keys(study, ids) if new_kind in _WITH_KEY else set(ids)
    met = set() if new_kind in _WITH_KEY else _met_as_checks(known)
    kinds = dict(Task.objects.filter(pk__in=known - met).values_list("pk", "kind"))
    Task.objects.filter(pk__in=kinds).update(kind=new_kind)
    if new_kind == Task.Kind.REGULAR:
        _move_counters(study, list(kinds), sign=1)
    else:
        _move_counters(study, [pk for pk, kind in kinds.items() if kind == Task.Kind.REGULAR], sign=-1)
    outcome = KindOutcome(len(kinds), len(task_ids) - len(ids), len(ids) - len(known), len(met))
    audit.record(
        "tasks.kind_changed", actor=actor, study=study, kind=kind, tasks=sorted(kinds), **vars(outcome)
    )
    return outcome


def _lock_from_leases(task_ids: Collection[int]) -> None:
    """Lock tasks in the order of their ids, also from checks being drawn, which take no more than a share lock."""
    list(Task.objects.select_for_update().filter(pk__in=task_ids).order_by("pk").values_list("pk"))


def _met_as_checks(task_ids: Collection[int]) -> set[int]:
    met = CheckOutcome.objects.filter(task_id__in=task_ids).values_list("task_id", flat=True)
    held = Assignment.objects.filter(task_id__in=task_ids, state=Assignment.State.OPEN)
    return set(met) | set(held.values_list("task_id", flat=True))


def _move_counters(study: Study, task_ids: Collection[int], *, sign: int) -> None:
    """After the change of their kind, under the tasks' lock; raters and the study come after."""
    if not task_ids:
        return
    with connection.cursor() as cursor:
        cursor.execute(_MOVE_COUNTERS, {"tasks": list(task_ids), "sign": sign})
        n_unnamed, n_full = cursor.fetchone() or (0, 0)
    ready = Task.objects.filter(pk__in=task_ids).exclude(state=Task.State.WITHDRAWN)
    Study.objects.filter(pk=study.pk).update(
        n_tasks=F("n_tasks") + sign * ready.count(),
        n_unnamed_judgments=F("n_unnamed_judgments") + sign * n_unnamed,
        n_unnamed_tasks_filled=F("n_unnamed_tasks_filled") + sign * n_full,
    )


def _give_keys(study: Study, task_ids: Collection[int]) -> set[int]:
    """The tasks that have an answer key now."""
    keyed = set(GoldKey.objects.filter(task_id__in=task_ids).values_list("task_id", flat=True))
    params: Mapping[str, Any] = {
        "tasks": [pk for pk in task_ids if pk not in keyed],
        "versions": comparable_versions(study),
        "kinds": [Question.Kind.PREFERENCE, Question.Kind.RATING, Question.Kind.CORRECTNESS],
    }
    with connection.cursor() as cursor:
        cursor.execute(_MAJORITY, params)
        rows = cursor.fetchall()
    GoldKey.objects.bulk_create(
        GoldKey(task_id=task, question_key=key, choice=choice, value=value)
        for task, key, choice, value in rows
    )
    return keyed | {row[0] for row in rows}
