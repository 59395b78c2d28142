"""Taking a version of an item back: the one before is the item again, with its tasks and what was said of them."""

from __future__ import annotations

from collections.abc import Sequence

from annotation import audit
from annotation.models import BarredRater, Candidate, Item, ItemVersion, Judgment, Study, Task, User
from annotation.services import item_locks, leases, replacements, set_asides, versions

UNDONE = "correction_undone"


def retract(item: Item, *, actor: User | None) -> ItemVersion:
    """Make the version before the item's current one its current one again. The caller holds the item's lock.

    Tasks that were withdrawn for the correction are handed out again, and the judgments that left the count with it
    are back in. What was said of the retracted version leaves it, with the reason `correction_undone`; its tasks that
    nobody has met move back.
    """
    study = Study.objects.get(pk=item.study_id)
    version = versions.current(item)
    before = versions.standing_before(version).order_by("-number")[0]
    back = list(Task.objects.filter(item_version=before, state=Task.State.WITHDRAWN).order_by("pk"))
    live = list(versions.live_tasks(version).select_related("replaces"))
    ids, back_ids = [task.pk for task in live], [task.pk for task in back]
    item_locks.stop([*ids, *back_ids])
    _lock_raters([*ids, *back_ids])
    moved = _move_back(live, before, study=study)
    gone = [task.pk for task in live if task.item_version_id == version.pk]
    Task.objects.filter(pk__in=gone).update(state=Task.State.WITHDRAWN)
    Task.objects.filter(pk__in=back_ids).update(state=Task.State.READY)
    BarredRater.objects.filter(task_id__in=gone, reason=BarredRater.Reason.SAW_EARLIER).delete()
    ItemVersion.objects.filter(pk=version.pk).update(retracted=True)
    Item.objects.filter(pk=item.pk).update(current_version=before)
    item.current_version = before
    set_asides.take_back(
        back_ids, study=study, reason="item_corrected", actor=actor, item=item, since=version.created_at
    )
    set_asides.set_aside(gone, study=study, reason=UNDONE, actor=actor, item=item)
    audit.record(
        "item.version_retracted", actor=actor, study=study, subject=f"item {item.pk}",
        item=item.external_id, version=version.number,
    )  # fmt: skip
    set_asides.count_tasks(study, moved + len(back_ids) - len(gone))
    return before


def _lock_raters(task_ids: Sequence[int]) -> None:
    """All that either mark will count, at once: one mark after the other would lock them out of order."""
    named = Judgment.objects.filter(task_id__in=task_ids, rater__isnull=False)
    leases.lock_raters(set(named.values_list("rater_id", flat=True)))


def _move_back(live: Sequence[Task], before: ItemVersion, *, study: Study) -> int:
    """Tasks that stand for no withdrawn one were moved here, or came since: back with them, unless they are about
    answers written for the retracted version. How many had to be replaced, having been met."""
    without = [task for task in live if not _stands_for_another(task, before)]
    slots = replacements.slots_of(without)
    shown: dict[int, list[Candidate]] = {}
    for pk, rows in slots.items():
        counterparts = [_counterpart(row.candidate, before) for row in rows]
        if None not in counterparts:
            shown[pk] = [candidate for candidate in counterparts if candidate is not None]
    returning = [task for task in without if task.pk in shown]
    fresh = replacements.untouched(returning)
    replacements.move([task for task in returning if task.pk in fresh], before, shown)
    met = [task for task in returning if task.pk not in fresh]
    return len(replacements.replace(met, before, shown, study=study))


def _stands_for_another(task: Task, before: ItemVersion) -> bool:
    return task.replaces is not None and task.replaces.item_version_id == before.pk


def _counterpart(candidate: Candidate, before: ItemVersion) -> Candidate | None:
    """The same output for the version before: that it was carried from, or a copy of one that was imported since. None
    of what was written, or carried from further back, for the retracted version."""
    origin = candidate.carried_from
    if origin is not None:
        return origin if origin.item_version_id == before.pk else None
    if candidate.provenance:
        return None
    return Candidate.objects.create(
        item_version=before,
        system_id=candidate.system_id,
        take=candidate.take,
        text=candidate.text,
        clip_id=candidate.clip_id,
        carried_from=candidate,
    )
