"""Keeping experts who review an item from rating it: they are about to learn what others said."""

from __future__ import annotations

from annotation.models import Assignment, BarredRater, Rater, ReviewCase, Task, User
from annotation.services import leases


def bar(user: User, case: ReviewCase) -> None:
    """Bar the expert's rater from the tasks of a case's version, and give back what they hold of them.

    The tasks are locked first: a lease that is being granted is waited for and then seen, and none is granted after.
    Leases come after them, against the order of locks, but are not waited for: one that is locked is being answered.
    """
    rater = Rater.objects.filter(study_id=case.study_id, user=user).first()
    if rater is None:
        return
    tasks = Task.objects.filter(item_version_id=case.item_version_id).exclude(state=Task.State.WITHDRAWN)
    ids = list(tasks.order_by("pk").values_list("pk", flat=True))
    leases.lock_places(ids)
    BarredRater.objects.bulk_create(
        (BarredRater(task_id=pk, rater=rater, reason=BarredRater.Reason.REVIEWS) for pk in ids),
        ignore_conflicts=True,
    )
    held = Assignment.objects.select_for_update(skip_locked=True, of=("self",)).filter(
        rater=rater, task_id__in=ids, state=Assignment.State.OPEN
    )
    if open_leases := list(held.values_list("pk", flat=True)):
        leases.release(open_leases, state=Assignment.State.RETURNED)


def knows(task_id: int, rater_id: int) -> bool:
    """Whether this rater reviews a task's item, and may have seen what others said of it."""
    barred = BarredRater.objects.filter(task_id=task_id, rater_id=rater_id)
    return barred.filter(reason=BarredRater.Reason.REVIEWS).exists()
