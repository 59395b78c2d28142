"""Writing imported records: in bulk, inside the caller's transaction, adding what is not there yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import connection
from django.db.models import F

from annotation.importers.records import TaskRecord, content_sha256
from annotation.models import (
    Answer,
    Candidate,
    Item,
    ItemVersion,
    Judgment,
    Rater,
    Study,
    System,
    Task,
    TaskCandidate,
)
from annotation.services import import_corrected, import_judgments, queue_places, reviewers
from annotation.services.clips import Taken
from annotation.services.import_batches import batches, existing, in_batches

BATCH = 2000
# A task that comes to an item which was withdrawn here goes with it.
_STATES: dict[str, Task.State] = {
    Item.State.ACTIVE: Task.State.READY,
    Item.State.WITHDRAWN: Task.State.WITHDRAWN,
}


@dataclass
class Counts:
    """What an import added."""

    items: int = 0
    tasks: int = 0
    judgments: int = 0
    raters: int = 0


def candidates_of(study: Study, external_ids: Sequence[str]) -> dict[str, list[tuple[str, str, str | None]]]:
    """By task, the (system, text, SHA-256 of the audio) of its slots in order; only tasks that exist, and of them only
    the candidates that a source names: those that an import adds by itself are left out."""
    found: dict[str, list[tuple[str, str, str | None]]] = {}
    for names in batches(external_ids, 5000):
        judged = TaskCandidate.objects.filter(candidate__system__role=System.Role.JUDGED)
        rows = judged.filter(task__study=study, task__external_id__in=names).order_by("task_id", "slot")
        for name, *candidate in rows.values_list(
            "task__external_id", "candidate__system__name", "candidate__text", "candidate__clip__sha256"
        ):
            found.setdefault(name, []).append((candidate[0], candidate[1], candidate[2]))
    return found


def write(
    study: Study, records: Sequence[TaskRecord], taken: Taken, *, overlap: int | None, archive: bool
) -> Counts:
    """Add items, candidates, tasks, raters and judgments, and move the counters with them."""
    # One import of a study at a time: the second finds what the first has added. Not by the study's row: that comes
    # last in the order of locks.
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('import'), %s::int)", [study.pk])
    study.refresh_from_db()
    counts = Counts()
    names = [record.external_id for record in records]
    tasks = {
        task.external_id: task for task in in_batches(Task.objects.filter(study=study), "external_id", names)
    }
    new = [record for record in records if record.external_id not in tasks]
    items = _write_items(study, new, taken, counts)
    tasks |= _write_tasks(study, new, items, taken, counts, overlap=overlap, archive=archive)
    raters = _write_raters(study, records, counts)
    judgments = import_judgments.write(study, records, tasks, raters)
    import_corrected.set_aside(study, judgments)
    counts.judgments = len(judgments)
    waiting = sum(tasks[record.external_id].state == Task.State.READY for record in new)
    Study.objects.filter(pk=study.pk).update(
        n_items=F("n_items") + counts.items, n_tasks=F("n_tasks") + waiting
    )
    return counts


def _write_items(
    study: Study, records: Sequence[TaskRecord], taken: Taken, counts: Counts
) -> dict[str, Item]:
    """The items of new tasks, by external id, with the versions that the tasks are about."""
    wanted = {record.item.external_id: record.item for record in records}
    there = set(existing(Item.objects.filter(study=study), "external_id", wanted))
    new = [item for name, item in wanted.items() if name not in there]
    items = Item.objects.bulk_create(
        (Item(study=study, external_id=item.external_id, strata=dict(item.strata)) for item in new),
        batch_size=BATCH,
    )
    versions = ItemVersion.objects.bulk_create(
        (
            ItemVersion(
                item=row,
                **item.texts,
                reference_clip=taken.clips[item.reference_audio] if item.reference_audio else None,
                clip=taken.clips[item.audio] if item.audio else None,
                content_sha256=content_sha256(item, taken.hashes),
            )
            for row, item in zip(items, new, strict=True)
        ),
        batch_size=BATCH,
    )
    for row, version in zip(items, versions, strict=True):
        row.current_version = version
    Item.objects.bulk_update(items, ["current_version"], batch_size=BATCH)
    counts.items = len(new)
    found = {row.external_id: row for row in items}
    # New tasks are about the item as it is now, corrected or not.
    found.update({item.external_id: item for item in import_corrected.lock_items(study, sorted(there))})
    return found


def _write_tasks(
    study: Study,
    new: Sequence[TaskRecord],
    items: Mapping[str, Item],
    taken: Taken,
    counts: Counts,
    *,
    overlap: int | None,
    archive: bool,
) -> dict[str, Task]:
    wanted = overlap or study.overlap
    places = queue_places.places(study, [record.external_id for record in new])
    tasks = Task.objects.bulk_create(
        (
            Task(
                study=study,
                item_version=items[record.item.external_id].current_version,
                state=_STATES[items[record.item.external_id].state],
                external_id=record.external_id,
                overlap=max(len(record.judgments), 1 if archive and record.judgments else wanted),
                shuffle_key=place,
            )
            for record, place in zip(new, places, strict=True)
        ),
        batch_size=BATCH,
    )
    _write_candidates(study, new, tasks, taken)
    reviewers.bar_from_new(tasks)
    counts.tasks = len(new)
    return {task.external_id: task for task in tasks}


def _write_candidates(
    study: Study, records: Sequence[TaskRecord], tasks: Sequence[Task], taken: Taken
) -> None:
    """The candidates of new tasks. Two tasks that show one system's same output share the candidate."""
    roles = {candidate.system: candidate.role for record in records for candidate in record.candidates}
    systems = _systems(study, roles)
    version_ids = {task.item_version_id for task in tasks}
    known: dict[tuple[int, int, str, int | None], Candidate] = {}
    takes: dict[tuple[int, int], int] = {}
    for row in in_batches(Candidate.objects.all(), "item_version_id", sorted(version_ids)):
        known[row.item_version_id, row.system_id, row.text, row.clip_id] = row
        takes[row.item_version_id, row.system_id] = max(
            row.take, takes.get((row.item_version_id, row.system_id), 0)
        )
    fresh, slots = [], []
    for record, task in zip(records, tasks, strict=True):
        for slot, candidate in enumerate(record.candidates):
            clip = taken.clips[candidate.audio] if candidate.audio else None
            group = task.item_version_id, systems[candidate.system].pk
            key = (*group, candidate.text, clip.pk if clip else None)
            if key not in known:
                takes[group] = takes.get(group, 0) + 1
                known[key] = Candidate(
                    item_version_id=group[0],
                    system_id=group[1],
                    take=takes[group],
                    text=candidate.text,
                    clip=clip,
                )
                fresh.append(known[key])
            slots.append((task, slot, known[key]))
    Candidate.objects.bulk_create(fresh, batch_size=BATCH)
    TaskCandidate.objects.bulk_create(
        (TaskCandidate(task=task, slot=slot, candidate=candidate) for task, slot, candidate in slots),
        batch_size=BATCH,
    )


def _systems(study: Study, roles: Mapping[str, str]) -> dict[str, System]:
    """The systems of these names, made where they are not there yet."""
    made = (System(study=study, name=name, role=role) for name, role in sorted(roles.items()))
    System.objects.bulk_create(made, ignore_conflicts=True)
    return {system.name: system for system in System.objects.filter(study=study, name__in=roles)}


def _write_raters(study: Study, records: Sequence[TaskRecord], counts: Counts) -> dict[str, Rater]:
    names = {judgment.rater for record in records for judgment in record.judgments if judgment.rater}
    known = in_batches(Rater.objects.filter(study=study), "external_id", sorted(names))
    there = {rater.external_id: rater for rater in known}
    new = Rater.objects.bulk_create(
        Rater(study=study, external_id=name, origin=Rater.Origin.IMPORTED)
        for name in sorted(names - set(there))
    )
    counts.raters = len(new)
    return there | {rater.external_id: rater for rater in new}


def analyze() -> None:
    """Tell PostgreSQL's planner at once: until autovacuum came by, an export of 7,000 judgments took 18 s, not 1.5."""
    tables = (Item, ItemVersion, Candidate, Task, TaskCandidate, Judgment, Answer, Rater)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE " + ", ".join(table._meta.db_table for table in tables))
