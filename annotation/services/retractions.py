"""Taking a version of an item back: the one before is the item again, with its tasks and what was said of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, count

from annotation import audit
from annotation.models import BarredRater, Candidate, Item, ItemVersion, Study, Task, User
from annotation.services import item_locks, replacements, set_asides, versions

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
    back_ids = [task.pk for task in back]
    item_locks.stop_all(item.pk)
    _bar_reviewers(version, back_ids)
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


def _bar_reviewers(version: ItemVersion, back_ids: Sequence[int]) -> None:
    """Who knows what was said of the retracted version knows too much of the one before, whose tasks come back."""
    reviews = BarredRater.Reason.REVIEWS
    bars = BarredRater.objects.filter(task__item_version=version, reason=reviews)
    knowing = sorted(set(bars.values_list("rater_id", flat=True)))
    BarredRater.objects.bulk_create(
        (BarredRater(task_id=pk, rater_id=rater, reason=reviews) for pk in back_ids for rater in knowing),
        update_conflicts=True,
        unique_fields=["task", "rater"],
        update_fields=["reason"],
    )


def _move_back(live: Sequence[Task], before: ItemVersion, *, study: Study) -> int:
    """Tasks that stand for no withdrawn one were moved here, or came since: back with them, unless they are about
    answers written for the retracted version. How many had to be replaced, having been met."""
    without = [task for task in live if not _stands_for_another(task, before)]
    slots = replacements.slots_of(without)
    staying = {pk: rows for pk, rows in slots.items() if all(_stays(row.candidate, before) for row in rows)}
    outputs = {row.candidate_id: row.candidate for rows in staying.values() for row in rows}
    counterparts = _counterparts(outputs, before)
    shown = {pk: [counterparts[row.candidate_id] for row in rows] for pk, rows in staying.items()}
    returning = [task for task in without if task.pk in shown]
    fresh = replacements.untouched(returning)
    replacements.move([task for task in returning if task.pk in fresh], before, shown)
    met = [task for task in returning if task.pk not in fresh]
    return len(replacements.replace(met, before, shown, study=study))


def _stands_for_another(task: Task, before: ItemVersion) -> bool:
    return task.replaces is not None and task.replaces.item_version_id == before.pk


def _stays(candidate: Candidate, before: ItemVersion) -> bool:
    """Whether the version before has this output, or may have it: it was carried from there, or imported since. What
    was written, or carried from further back, for the retracted version goes with it."""
    origin = candidate.carried_from
    return not candidate.provenance if origin is None else origin.item_version_id == before.pk


def _counterparts(outputs: Mapping[int, Candidate], before: ItemVersion) -> dict[int, Candidate]:
    """By the ids of outputs that stay, the same for the version before: each that it has not gets a copy there."""
    found = {pk: output.carried_from for pk, output in outputs.items() if output.carried_from is not None}
    given = list(before.candidates.order_by("pk"))
    taken = {(candidate.system_id, candidate.take) for candidate in given}
    known = {candidate.pk for candidate in found.values()}
    free = {_content(candidate): candidate for candidate in given if candidate.pk not in known}
    for pk, output in sorted(outputs.items()):
        if pk in found:
            continue
        content = _content(output)
        found[pk] = free.pop(content) if content in free else _copy(output, before, taken)
    return found


def _content(candidate: Candidate) -> tuple[int, str, int | None]:
    return candidate.system_id, candidate.text, candidate.clip_id


def _copy(candidate: Candidate, before: ItemVersion, taken: set[tuple[int, int]]) -> Candidate:
    """As the same take of its system, or as the next that is free."""
    takes = chain([candidate.take], count(1))
    take = next(take for take in takes if (candidate.system_id, take) not in taken)
    taken.add((candidate.system_id, take))
    return Candidate.objects.create(
        item_version=before,
        system_id=candidate.system_id,
        take=take,
        text=candidate.text,
        clip_id=candidate.clip_id,
        carried_from=candidate,
    )
