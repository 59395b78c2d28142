"""Taking items out of a study, and back in."""

from __future__ import annotations

from django.db import transaction

from annotation import audit
from annotation.errors import Conflict
from annotation.models import Item, ReviewCase, Study, Task, User
from annotation.services import case_closing, item_locks, set_asides

REASON = "item_withdrawn"


@transaction.atomic
def withdraw_item(item: Item, *, reason: str, actor: User | None) -> None:
    """Take an item out, and close its cases: its tasks are handed out no more, and its judgments leave the count.

    Votes on their way are kept as surplus. `reason` is a sentence for the log. Raises Conflict `item_withdrawn` when
    it is out already.
    """
    item_locks.lock_cases(item.pk)
    locked = item_locks.lock(item.pk)
    if locked.state == Item.State.WITHDRAWN:
        raise Conflict("This item was withdrawn before.", code=REASON)
    case_closing.close_for_item(locked, decision=ReviewCase.Decision.WITHDRAWN, actor=actor)
    take_out(locked, reason=reason, actor=actor)
    item.state = locked.state


def take_out(item: Item, *, reason: str, actor: User | None) -> None:
    """Take an item out whose lock the caller holds."""
    study = Study.objects.get(pk=item.study_id)
    tasks = Task.objects.filter(item_version_id=item.current_version_id).exclude(state=Task.State.WITHDRAWN)
    ids = list(tasks.order_by("pk").values_list("pk", flat=True))
    item_locks.stop(ids)
    Task.objects.filter(pk__in=ids).update(state=Task.State.WITHDRAWN)
    _set_state(item, Item.State.WITHDRAWN)
    set_asides.set_aside(ids, study=study, reason=REASON, actor=actor, item=item)
    audit.record(
        "item.withdrawn",
        actor=actor,
        study=study,
        subject=f"item {item.pk}",
        item=item.external_id,
        reason=reason,
    )
    set_asides.count_tasks(study, -len(ids), items=-1)


def bring_back(item: Item, *, actor: User | None) -> None:
    """Undo a withdrawal: the item, its tasks, and the judgments that went with it. The caller holds the item's lock."""
    study = Study.objects.get(pk=item.study_id)
    tasks = Task.objects.filter(item_version_id=item.current_version_id, state=Task.State.WITHDRAWN)
    ids = list(tasks.order_by("pk").values_list("pk", flat=True))
    item_locks.stop(ids)
    Task.objects.filter(pk__in=ids).update(state=Task.State.READY)
    _set_state(item, Item.State.ACTIVE)
    set_asides.take_back(ids, study=study, reason=REASON, actor=actor, item=item)
    audit.record(
        "item.brought_back", actor=actor, study=study, subject=f"item {item.pk}", item=item.external_id
    )
    set_asides.count_tasks(study, len(ids), items=1)


def _set_state(item: Item, state: Item.State) -> None:
    item.state = state
    item.save(update_fields=["state"])
