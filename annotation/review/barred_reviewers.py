"""Conflict of interest: experts who review an item are barred from rating it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from django.db.models import F, QuerySet

from annotation.bulk_queries import batches
from annotation.items import locks
from annotation.models import Assignment, BarredRater, Rater, ReviewCase, Task, User
from annotation.rating import overlap

REVIEWS = BarredRater.Reason.REVIEWS


def bar_reviewer(user: User, case: ReviewCase) -> None:
    """Bar the expert's rater from the tasks of a case's version, and give back what they hold of them.

    Whatever holds one of their leases at this moment (a vote, a heartbeat) is waited for: no lease outlives this. The
    rater is locked last, as whoever asks for a task locks them first: they look for one once this is there to be seen.
    """
    rater = Rater.objects.filter(study_id=case.study_id, user=user).first()
    if rater is None:
        return
    tasks = Task.objects.filter(item_version_id=case.item_version_id).exclude(state=Task.State.WITHDRAWN)
    known = BarredRater.objects.filter(rater=rater, reason=REVIEWS).values("task_id")
    ids = list(tasks.exclude(pk__in=known).order_by("pk").values_list("pk", flat=True))
    if not ids:
        return
    locks.end_leases(ids, rater_id=rater.pk, ended=Assignment.State.RETURNED)
    overlap.lock_raters([rater.pk])
    _write_bars((pk, rater.pk) for pk in ids)


def bar_reviewers_from_tasks(tasks: Collection[Task]) -> None:
    """Bar those who review the versions of these new tasks, or did, as they are from the tasks that were there."""
    raters_by_version: dict[int, set[int]] = {}
    for version_ids in batches(sorted({task.item_version_id for task in tasks})):
        for version_id, rater_id in _reviewing(version_ids):
            raters_by_version.setdefault(version_id, set()).add(rater_id)
    _write_bars(
        (task.pk, rater_id) for task in tasks for rater_id in raters_by_version.get(task.item_version_id, ())
    )


def is_reviewer(task_id: int, rater_id: int) -> bool:
    """Whether this rater reviews a task's item, and may have seen what others said of it."""
    barred = BarredRater.objects.filter(task_id=task_id, rater_id=rater_id)
    return barred.filter(reason=REVIEWS).exists()


def _reviewing(version_ids: Collection[int]) -> Iterator[tuple[int, int]]:
    """Versions and raters. Where a version has had no task, nothing says who reviews it but its cases."""
    bars = BarredRater.objects.filter(task__item_version_id__in=version_ids, reason=REVIEWS)
    yield from bars.values_list("task__item_version_id", "rater_id")
    cases = ReviewCase.objects.filter(item_version_id__in=version_ids)
    yield from _raters(cases, "claimed_by")
    yield from _raters(cases, "decided_by")


def _raters(cases: QuerySet[ReviewCase], account: str) -> Iterator[tuple[int, int]]:
    """Versions, and the raters that these accounts of their cases are in the study."""
    own = cases.filter(**{f"{account}__raters__study": F("study")})
    yield from own.values_list("item_version_id", f"{account}__raters__pk")


def _write_bars(bars: Iterable[tuple[int, int]]) -> None:
    """Tasks and raters. Who was barred for having seen an earlier version is now for what they know."""
    BarredRater.objects.bulk_create(
        (BarredRater(task_id=task_id, rater_id=rater_id, reason=REVIEWS) for task_id, rater_id in bars),
        update_conflicts=True,
        unique_fields=["task", "rater"],
        update_fields=["reason"],
        batch_size=2000,
    )
