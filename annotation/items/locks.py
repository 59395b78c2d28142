"""Lock order of changes to a whole item: its cases, the item, leases, tasks, raters.

Whoever gives an item another version, withdraws it or adds tasks to it waits here for whoever was first.
"""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from annotation.models import Assignment, Item, Judgment, ReviewCase, Task
from annotation.rating import leases, overlap


class _LeaseBeingAnswered(Exception):
    """A lease granted while we waited for its task is being answered at this moment."""


def lock_cases(item_id: int) -> None:
    """Lock all unresolved cases of an item, in order: some of them may have to be closed with one."""
    cases = ReviewCase.objects.select_for_update().filter(item_id=item_id)
    list(cases.exclude(state=ReviewCase.State.RESOLVED).order_by("pk").values_list("pk"))


def lock_item(item_id: int) -> Item:
    """The item as it is now, and stays until the transaction ends. Read alone: a version joined to it would be the one
    from before the wait."""
    return Item.objects.select_for_update(no_key=True).get(pk=item_id)


def end_leases(
    task_ids: Collection[int],
    *,
    rater_id: int | None = None,
    ended: Assignment.State = Assignment.State.EXPIRED,
) -> None:
    """Lock these tasks and end every lease on them, or one rater's. A vote on its way was stored before this, or comes
    after the lease has ended.

    Leases come before tasks in the order of locks, but new ones come in until their task is locked. Those are taken
    only if nobody is at them; else all is let go and tried again, so that nobody waits for us while we wait for them.
    """
    while True:
        try:
            with transaction.atomic():
                open_leases = _lock_tasks_and_leases(task_ids, rater_id)
            break
        except _LeaseBeingAnswered:
            continue
    if open_leases:
        leases.release(open_leases, state=ended)


def end_item_leases(item_id: int) -> None:
    """Lock all tasks of an item, of whichever version, end every lease on them, and lock everybody who judged one: all
    that changing the item can move, at once. Its parts, each locking what it moves, would lock raters out of order."""
    task_ids = list(Task.objects.filter(item_version__item=item_id).values_list("pk", flat=True))
    end_leases(task_ids)
    named = Judgment.objects.filter(task_id__in=task_ids, rater__isnull=False)
    overlap.lock_raters(set(named.values_list("rater_id", flat=True)))


def _lock_tasks_and_leases(task_ids: Collection[int], rater_id: int | None) -> list[UUID]:
    open_leases = _open_leases(task_ids, rater_id)
    _lock_leases(task_ids, rater_id)
    overlap.lock_tasks(task_ids)
    still_open = set(open_leases.values_list("pk", flat=True))
    at_hand = open_leases.select_for_update(skip_locked=True).values_list("pk", flat=True)
    if still_open - set(at_hand):
        raise _LeaseBeingAnswered
    return sorted(still_open)


def _lock_leases(task_ids: Collection[int], rater_id: int | None) -> None:
    list(_open_leases(task_ids, rater_id).select_for_update().order_by("pk").values_list("pk"))


def _open_leases(task_ids: Collection[int], rater_id: int | None) -> QuerySet[Assignment]:
    leases = Assignment.objects.filter(task_id__in=task_ids, state=Assignment.State.OPEN)
    return leases if rater_id is None else leases.filter(rater_id=rater_id)
