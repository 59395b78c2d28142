"""Item withdrawal and restoration: tasks, judgments and counts follow the item."""

from __future__ import annotations

from annotation.items import locks, review_exclusions
from annotation.models import Item, Study, Task, User
from annotation.studies import audit

WITHDRAWN_REASON = "item_withdrawn"


def withdraw_item(item: Item, *, reason: str, actor: User | None) -> None:
    """Take an item out whose lock the caller holds."""
    study = Study.objects.get(pk=item.study_id)
    tasks = Task.objects.filter(item_version_id=item.current_version_id).exclude(state=Task.State.WITHDRAWN)
    ids = list(tasks.order_by("pk").values_list("pk", flat=True))
    locks.end_leases(ids)
    Task.objects.filter(pk__in=ids).update(state=Task.State.WITHDRAWN)
    _set_state(item, Item.State.WITHDRAWN)
    review_exclusions.exclude_by_review(ids, study=study, reason=WITHDRAWN_REASON, actor=actor, item=item)
    audit.record(
        "item.withdrawn",
        actor=actor,
        study=study,
        subject=f"item {item.pk}",
        item=item.external_id,
        reason=reason,
    )
    review_exclusions.adjust_task_counts(study, -review_exclusions.n_regular(ids), items=-1)


def restore_item(item: Item, *, actor: User | None) -> None:
    """Undo a withdrawal: the item, its tasks, and the judgments that went with it. The caller holds the item's lock."""
    study = Study.objects.get(pk=item.study_id)
    tasks = Task.objects.filter(item_version_id=item.current_version_id, state=Task.State.WITHDRAWN)
    ids = list(tasks.order_by("pk").values_list("pk", flat=True))
    locks.end_leases(ids)
    Task.objects.filter(pk__in=ids).update(state=Task.State.READY)
    _set_state(item, Item.State.ACTIVE)
    review_exclusions.restore_by_review(ids, study=study, reason=WITHDRAWN_REASON, actor=actor, item=item)
    audit.record(
        "item.brought_back", actor=actor, study=study, subject=f"item {item.pk}", item=item.external_id
    )
    review_exclusions.adjust_task_counts(study, review_exclusions.n_regular(ids), items=1)


def _set_state(item: Item, state: Item.State) -> None:
    item.state = state
    item.save(update_fields=["state"])
