"""Review exclusions: an expert's decision takes an item's judgments out of the count, and undo brings them back."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.db.models import F, OuterRef, Subquery

from annotation.models import Exclusion, Item, Judgment, Study, Task, User
from annotation.rating import exclusions


def exclude_by_review(
    task_ids: Collection[int], *, study: Study, reason: str, actor: User | None, item: Item
) -> None:
    """Take what raters said of these tasks out of the count, for one of `review.rules.REVIEW_EXCLUSIONS`. What somebody
    has excluded before keeps their reason. The caller holds the tasks' locks."""
    judgments = Judgment.objects.filter(task_id__in=task_ids, excluded=False)
    exclusions.exclude_or_restore(
        judgments.exclude(origin=Judgment.Origin.EXPERT),
        study=study,
        action=Exclusion.Action.EXCLUDE,
        reason=reason,
        actor=actor,
        subject=f"item {item.pk}",
        by_review=True,
    )


def restore_by_review(
    task_ids: Collection[int],
    *,
    study: Study,
    reason: str,
    actor: User | None,
    item: Item,
    since: datetime | None = None,
) -> None:
    """Restore what was set aside for this reason (`since` a moment) and has no other mark since."""
    last = Exclusion.objects.filter(judgment=OuterRef("pk")).order_by("-pk")
    judgments = Judgment.objects.filter(task_id__in=task_ids, excluded=True).annotate(
        why=Subquery(last.values("reason")[:1]), marked_at=Subquery(last.values("created_at")[:1])
    )
    excluded = judgments.filter(why=reason)
    exclusions.exclude_or_restore(
        excluded if since is None else excluded.filter(marked_at__gte=since),
        study=study,
        action=Exclusion.Action.RESTORE,
        reason=reason,
        actor=actor,
        subject=f"item {item.pk}",
        by_review=True,
    )


def n_regular(task_ids: Collection[int]) -> int:
    """How many of these tasks a study counts."""
    return Task.objects.filter(pk__in=task_ids, kind=Task.Kind.REGULAR).count()


def adjust_task_counts(study: Study, change: int, *, items: int = 0) -> None:
    """A study's items and tasks are those that are not withdrawn, and its tasks only the regular ones. Last of all: its
    row comes last in the order."""
    if change or items:
        Study.objects.filter(pk=study.pk).update(n_tasks=F("n_tasks") + change, n_items=F("n_items") + items)
