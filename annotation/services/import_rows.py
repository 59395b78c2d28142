"""Writing imported records: in bulk, inside the caller's transaction, adding what is not there yet."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import F

from annotation.importers.records import JudgmentRecord, TaskRecord, content_sha256
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
from annotation.rules import queue
from annotation.rules.presentation import balance_step
from annotation.services import leases
from annotation.services.clips import Taken
from annotation.services.protocols import LoadedProtocol, loaded

BATCH = 2000

_COUNT = """
UPDATE annotation_task t
SET n_judgments = t.n_judgments + m.n, order_balance = t.order_balance + m.step,
    overlap = greatest(t.overlap, t.n_judgments + m.n + t.n_leases)
FROM unnest(%s::bigint[], %s::int[], %s::int[]) AS m (id, n, step)
WHERE t.id = m.id
"""


@dataclass
class Counts:
    """What an import added."""

    items: int = 0
    tasks: int = 0
    judgments: int = 0
    raters: int = 0


def candidates_of(study: Study, external_ids: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """By task, the (system, text) of its slots in order; only tasks that exist."""
    found: dict[str, list[tuple[str, str]]] = {}
    for names in batches(external_ids, 5000):
        rows = TaskCandidate.objects.filter(task__study=study, task__external_id__in=names).order_by(
            "task_id", "slot"
        )
        for name, system, text in rows.values_list(
            "task__external_id", "candidate__system__name", "candidate__text"
        ):
            found.setdefault(name, []).append((system, text))
    return found


def write(
    study: Study, records: Sequence[TaskRecord], taken: Taken, *, overlap: int | None, archive: bool
) -> Counts:
    """Add items, candidates, tasks, raters and judgments, and move the counters with them."""
    # One import of a study at a time: the second finds what the first has added.
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    counts = Counts()
    versions = _write_items(study, records, taken, counts)
    tasks = _write_tasks(study, records, versions, taken, counts, overlap=overlap, archive=archive)
    raters = _write_raters(study, records, counts)
    _write_judgments(study, records, tasks, raters, counts)
    Study.objects.filter(pk=study.pk).update(
        n_items=F("n_items") + counts.items, n_tasks=F("n_tasks") + counts.tasks
    )
    return counts


def _write_items(
    study: Study, records: Sequence[TaskRecord], taken: Taken, counts: Counts
) -> dict[str, ItemVersion]:
    """The first version of every item, by external id."""
    wanted = {record.item.external_id: record.item for record in records}
    there = set(_existing(Item.objects.filter(study=study), "external_id", wanted))
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
    found = {row.external_id: version for row, version in zip(items, versions, strict=True)}
    for names in batches(sorted(there), 5000):
        rows = ItemVersion.objects.filter(item__study=study, item__external_id__in=names, number=1)
        found.update({version.item.external_id: version for version in rows.select_related("item")})
    return found


def _write_tasks(
    study: Study,
    records: Sequence[TaskRecord],
    versions: Mapping[str, ItemVersion],
    taken: Taken,
    counts: Counts,
    *,
    overlap: int | None,
    archive: bool,
) -> dict[str, Task]:
    names = [record.external_id for record in records]
    there = {
        task.external_id: task for task in _inbatches(Task.objects.filter(study=study), "external_id", names)
    }
    new = [record for record in records if record.external_id not in there]
    wanted = overlap or study.overlap
    tasks = Task.objects.bulk_create(
        (
            Task(
                study=study,
                item_version=versions[record.item.external_id],
                external_id=record.external_id,
                overlap=max(len(record.judgments), 1 if archive and record.judgments else wanted),
                shuffle_key=_place(study, record, position),
            )
            for position, record in enumerate(new, study.n_tasks)
        ),
        batch_size=BATCH,
    )
    _write_candidates(study, new, tasks, taken)
    counts.tasks = len(new)
    return there | {task.external_id: task for task in tasks}


def _place(study: Study, record: TaskRecord, position: int) -> float:
    if study.order == Study.Order.LISTED:
        return float(position)
    return queue.shuffle_key(study.seed, record.external_id)


def _write_candidates(
    study: Study, records: Sequence[TaskRecord], tasks: Sequence[Task], taken: Taken
) -> None:
    """The candidates of new tasks. Two tasks that show one system's same output share the candidate."""
    systems = _systems(study, {candidate.system for record in records for candidate in record.candidates})
    version_ids = {task.item_version_id for task in tasks}
    known: dict[tuple[int, int, str, int | None], Candidate] = {}
    takes: dict[tuple[int, int], int] = {}
    for row in _inbatches(Candidate.objects.all(), "item_version_id", sorted(version_ids)):
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


def _systems(study: Study, names: set[str]) -> dict[str, System]:
    System.objects.bulk_create(
        (System(study=study, name=name) for name in sorted(names)), ignore_conflicts=True
    )
    return {system.name: system for system in System.objects.filter(study=study, name__in=names)}


def _write_raters(study: Study, records: Sequence[TaskRecord], counts: Counts) -> dict[str, Rater]:
    names = {judgment.rater for record in records for judgment in record.judgments if judgment.rater}
    there = {rater.external_id: rater for rater in Rater.objects.filter(study=study, external_id__in=names)}
    new = Rater.objects.bulk_create(
        Rater(study=study, external_id=name, origin=Rater.Origin.IMPORTED)
        for name in sorted(names - set(there))
    )
    counts.raters = len(new)
    return there | {rater.external_id: rater for rater in new}


def _write_judgments(
    study: Study,
    records: Sequence[TaskRecord],
    tasks: Mapping[str, Task],
    raters: Mapping[str, Rater],
    counts: Counts,
) -> None:
    protocol = loaded(study.protocol_version_id)
    there = set(
        _existing(
            Judgment.objects.filter(study=study, origin=Judgment.Origin.IMPORTED),
            "client_id",
            [_client_id(record, said) for record in records for said in record.judgments],
        )
    )
    new = [
        (tasks[record.external_id], said, _client_id(record, said))
        for record in records
        for said in record.judgments
        if _client_id(record, said) not in there
    ]
    _make_room(study, new, raters)
    judgments = Judgment.objects.bulk_create(
        (_judgment(study, protocol, task, said, client_id, raters) for task, said, client_id in new),
        batch_size=BATCH,
    )
    Answer.objects.bulk_create(
        (
            answer
            for judgment, (_, said, _) in zip(judgments, new, strict=True)
            for answer in _answers(judgment, said, protocol)
        ),
        batch_size=BATCH,
    )
    counts.judgments = len(new)


def _client_id(record: TaskRecord, said: JudgmentRecord) -> uuid.UUID:
    """The same judgment of the same source has the same name whenever it is imported; names are per task."""
    return uuid.uuid5(uuid.NAMESPACE_OID, f"{record.external_id}\x1f{said.key}")


def _judgment(
    study: Study,
    protocol: LoadedProtocol,
    task: Task,
    said: JudgmentRecord,
    client_id: uuid.UUID,
    raters: Mapping[str, Rater],
) -> Judgment:
    return Judgment(
        study=study,
        task=task,
        rater=raters.get(said.rater),
        protocol_version_id=protocol.version_id,
        client_id=client_id,
        payload_sha256=hashlib.sha256(client_id.bytes).digest(),
        origin=Judgment.Origin.IMPORTED,
        presentation=None if said.presentation is None else list(said.presentation),
        codes=list(said.codes),
        comment=said.comment,
    )


def _answers(judgment: Judgment, said: JudgmentRecord, protocol: LoadedProtocol) -> Iterable[Answer]:
    for answer in said.answers:
        yield Answer(
            judgment=judgment,
            task_id=judgment.task_id,
            question_id=protocol.question_ids[answer.question],
            choice=answer.choice,
            value=answer.value,
            confidence=answer.confidence,
            text=answer.text,
        )


def _make_room(
    study: Study, new: Sequence[tuple[Task, JudgmentRecord, uuid.UUID]], raters: Mapping[str, Rater]
) -> None:
    """Count the judgments on their tasks and raters. A task that they fill beyond its overlap gets a larger one."""
    by_task: dict[int, list[JudgmentRecord]] = {}
    for task, said, _ in new:
        by_task.setdefault(task.pk, []).append(said)
    places = leases.lock_places(set(by_task))
    unnamed = filled_by_unnamed = 0
    by_rater: dict[str, int] = {}
    for task_id, added in by_task.items():
        before = places[task_id]
        full_before, full = (
            before.n_judgments >= before.overlap,
            before.n_judgments + len(added) >= before.overlap,
        )
        filled_by_unnamed += int(full) - int(full_before)
        for said in added:
            if said.rater:
                by_rater[said.rater] = by_rater.get(said.rater, 0) + 1
            else:
                unnamed += 1
    with connection.cursor() as cursor:
        cursor.execute(
            _COUNT,
            [
                list(by_task),
                [len(added) for added in by_task.values()],
                [sum(balance_step(said.presentation or ()) for said in added) for added in by_task.values()],
            ],
        )
    for name in sorted(by_rater, key=lambda name: raters[name].pk):
        Rater.objects.filter(pk=raters[name].pk).update(n_judgments=F("n_judgments") + by_rater[name])
    Study.objects.filter(pk=study.pk).update(
        n_unnamed_judgments=F("n_unnamed_judgments") + unnamed,
        n_unnamed_tasks_filled=F("n_unnamed_tasks_filled") + filled_by_unnamed,
    )


def _existing(rows: Any, field: str, values: Iterable[Any]) -> Iterable[Any]:
    for batch in batches(list(values), 5000):
        yield from rows.filter(**{f"{field}__in": batch}).values_list(field, flat=True)


def _inbatches(rows: Any, field: str, values: Sequence[Any]) -> Iterable[Any]:
    for batch in batches(values, 5000):
        yield from rows.filter(**{f"{field}__in": batch})


def batches(values: Sequence[Any], size: int) -> Iterable[Sequence[Any]]:
    return (values[start : start + size] for start in range(0, len(values), size))
