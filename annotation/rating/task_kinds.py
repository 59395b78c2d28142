"""Kinds of tasks, changed after the import: regular tasks become gold or training tasks, and back.

A gold or training task needs the answer it expects. One that has none gets what most of its raters answered to the
study's questions, where there is such an answer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction

from annotation.errors import InvalidInput
from annotation.models import GoldKey, Question, Study, Task, User
from annotation.rating import overlap
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


@dataclass(frozen=True)
class KindOutcome:
    """`without_key`: tasks that were left as they were, as nobody knows what they expect."""

    changed: int
    unchanged: int
    without_key: int


@transaction.atomic
def set_kind(study: Study, task_ids: Collection[int], *, kind: str, actor: User | None) -> KindOutcome:
    """Traps and repeats stay what they are. Figures rest on regular tasks, so this changes them."""
    if kind not in CHANGEABLE:
        raise InvalidInput.of_field("kind", f"Choose one of {', '.join(CHANGEABLE)}.")
    new_kind = CHANGEABLE[kind]
    overlap.lock_tasks(task_ids)
    tasks = Task.objects.filter(study=study, pk__in=task_ids, kind__in=CHANGEABLE.values())
    ids = list(tasks.exclude(kind=new_kind).order_by("pk").values_list("pk", flat=True))
    known = _give_keys(study, ids) if new_kind in _WITH_KEY else set(ids)
    changed = Task.objects.filter(pk__in=known).update(kind=new_kind)
    outcome = KindOutcome(changed, len(task_ids) - len(ids), len(ids) - changed)
    audit.record(
        "tasks.kind_changed", actor=actor, study=study, kind=kind, tasks=sorted(known), **vars(outcome)
    )
    return outcome


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
