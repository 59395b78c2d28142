"""Overlap: row locks of tasks and raters, and changes of how many judgments tasks take.

When a task is full is said in `models.task`, by the column `wants_more` and a constraint.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.db import connection, transaction
from django.db.models import F, Q

from annotation.errors import InvalidInput
from annotation.models import Rater, Study, Task, User
from annotation.rating import counted
from annotation.rating.rules import counterbalancing
from annotation.rating.rules.exclusions import TaskPlaces
from annotation.studies import audit

MOST_OVERLAP = 1000


def lock_tasks(task_ids: Collection[int]) -> dict[int, TaskPlaces]:
    """Lock these tasks until the transaction ends; the places of each."""
    places = {}
    ordered = sorted(task_ids)
    for start in range(0, len(ordered), 10_000):  # a statement takes 65,535 parameters at most
        tasks = Task.objects.select_for_update(no_key=True).filter(pk__in=ordered[start : start + 10_000])
        for pk, *counters in tasks.order_by("pk").values_list("pk", "n_judgments", "n_leases", "overlap"):
            places[pk] = TaskPlaces(*counters)
    return places


def lock_raters(rater_ids: Collection[int]) -> None:
    """Lock these raters until the transaction ends. Tasks come before them."""
    raters = Rater.objects.select_for_update(no_key=True).filter(pk__in=rater_ids)
    list(raters.order_by("pk").values_list("pk"))


_UPDATE_COLUMN = """
WITH new AS (
    SELECT * FROM unnest(%(tasks)s::bigint[], %(values)s::{type}[]) AS n (id, value)
), locked AS (
    SELECT t.id, new.value FROM annotation_task t JOIN new USING (id)
    WHERE t.study_id = %(study)s AND t.{column} IS DISTINCT FROM new.value ORDER BY t.id FOR NO KEY UPDATE OF t
)
UPDATE annotation_task t SET {column} = locked.value FROM locked WHERE t.id = locked.id
"""


def update_column(study: Study, column: str, values: Mapping[int, Any], *, type: str, chunk: int) -> int:
    """Set a derived column of a study's tasks, a chunk of them in each transaction, and none that has the value
    already. Returns how many changed. What a crash loses is computed again, so no commit waits for the disk."""
    ids, n_changed = sorted(values), 0
    statement = _UPDATE_COLUMN.format(column=column, type=type)
    for start in range(0, len(ids), chunk):
        tasks = ids[start : start + chunk]
        params: dict[str, Any] = {"study": study.pk, "tasks": tasks, "values": [values[pk] for pk in tasks]}
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL synchronous_commit TO off")
            cursor.execute(statement, params)
            n_changed += cursor.rowcount
    return n_changed


def count_late_judgment(task_id: int, *, shown: Sequence[int]) -> bool:
    """Count a judgment that came after its lease had ended, if the task still has room for it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE annotation_task SET n_judgments = n_judgments + 1, order_balance = order_balance + %s"
            " WHERE id = %s AND wants_more",
            [counterbalancing.order_balance_step(shown), task_id],
        )
        return bool(cursor.rowcount)


# A task that is full, or is not any more, is counted with a rater of it (as in `rules.exclusions`); any will do.
_CHANGE_OVERLAP = f"""
WITH wanted AS (
    SELECT t.id, t.n_judgments >= t.overlap AS was_full,
        greatest(t.overlap + w.votes, t.n_judgments + t.n_leases) AS overlap
    FROM annotation_task t JOIN unnest(%(tasks)s::bigint[], %(votes)s::int[]) AS w (id, votes) ON w.id = t.id
), changed AS (
    UPDATE annotation_task t SET overlap = wanted.overlap FROM wanted WHERE t.id = wanted.id
    RETURNING t.id, (t.n_judgments >= t.overlap)::int - wanted.was_full::int AS filled
)
SELECT said.rater_id, sum(changed.filled) FROM changed CROSS JOIN LATERAL (
    SELECT j.rater_id FROM annotation_judgment j
    WHERE j.task_id = changed.id AND {counted.COUNTED}
    ORDER BY j.id DESC LIMIT 1
) AS said WHERE changed.filled <> 0 GROUP BY said.rater_id
"""


def change_overlap(study: Study, votes: Mapping[int, int]) -> None:
    """Let each task take so many more judgments, or fewer (negative), but never fewer than it has with those on their
    way. Locks the tasks, then raters, then the study."""
    if not votes:
        return
    lock_tasks(votes)
    with connection.cursor() as cursor:
        cursor.execute(_CHANGE_OVERLAP, {"tasks": list(votes), "votes": list(votes.values())})
        filled: dict[int | None, int] = dict(cursor.fetchall())
    lock_raters({pk for pk in filled if pk is not None})
    for rater_id, n in filled.items():
        if rater_id is None:
            more = F("n_unnamed_tasks_filled") + n
            Study.objects.filter(pk=study.pk).update(n_unnamed_tasks_filled=more)
        else:
            Rater.objects.filter(pk=rater_id).update(n_tasks_filled=F("n_tasks_filled") + n)


@transaction.atomic
def set_study_overlap(study: Study, overlap: int, *, actor: User | None) -> Study:
    """How many judgments a task takes from now on, for tasks that are there and those that come.

    A task that an import gave an overlap of its own keeps it, and none takes fewer than it has with those on their way.
    Judgments that early stopping and experts requested beyond the study's overlap stay requested.
    """
    before = study.overlap
    if not 1 <= overlap <= MOST_OVERLAP:
        raise InvalidInput.of_field("overlap", f"Give a whole number from 1 to {MOST_OVERLAP}.")
    base = F("overlap") - F("overlap_added")
    tasks = Task.objects.filter(study=study, kind=Task.Kind.REGULAR).exclude(state=Task.State.WITHDRAWN)
    # Lowered before, as far as its judgments let it: it follows the study again.
    held_up = Q(base__gt=before, overlap=F("n_judgments") + F("n_leases"))
    rows = (
        tasks.annotate(base=base)
        .filter(Q(base=before) | held_up)
        .values_list("pk", "overlap", "overlap_added")
    )
    change_overlap(study, {pk: move for pk, now, added in rows.iterator() if (move := overlap + added - now)})
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if study.overlap != overlap:
        study.overlap = overlap
        study.save(update_fields=["overlap"])
        audit.record("study.changed", actor=actor, study=study, overlap=[before, overlap])
    return study


@transaction.atomic
def change_tasks_overlap(study: Study, votes: Mapping[int, int], *, overlap: int, actor: User | None) -> None:
    """What a researcher asks for of chosen tasks: `overlap` judgments of each, which are so many more or fewer."""
    change_overlap(study, votes)
    if votes:
        audit.record("tasks.overlap_changed", actor=actor, study=study, overlap=overlap, tasks=sorted(votes))
