"""Writing imported records: by COPY, page by page, inside the caller's transaction, adding what is not there yet."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.db import connection

from annotation.importers.records import TEXT_FIELDS, CandidateRecord, TaskRecord, content_sha256
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
from annotation.services import copying, import_corrected, queue_places, reviewers
from annotation.services.clips import Taken
from annotation.services.import_batches import batches, existing, in_batches

# A task that comes to an item which was withdrawn here goes with it.
_STATES: dict[str, Task.State] = {
    Item.State.ACTIVE: Task.State.READY,
    Item.State.WITHDRAWN: Task.State.WITHDRAWN,
}
_ITEM = ("id", "study_id", "external_id", "strata", "current_version_id")
_VERSION = (
    "id", "item_id", *TEXT_FIELDS, "reference_clip_id", "clip_id", "content_sha256",
)  # fmt: skip
_TASK = ("id", "study_id", "item_version_id", "state", "external_id", "overlap", "shuffle_key")
_CANDIDATE = ("id", "item_version_id", "system_id", "take", "text", "clip_id")
_SLOT = ("task_id", "slot", "candidate_id")


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
        rows = judged.filter(task__study=study, task__external_id__any_of=names).order_by("task_id", "slot")
        for name, *candidate in rows.values_list(
            "task__external_id", "candidate__system__name", "candidate__text", "candidate__clip__sha256"
        ):
            found.setdefault(name, []).append((candidate[0], candidate[1], candidate[2]))
    return found


@dataclass(frozen=True)
class _Place:
    """Where a task goes: the version of its item that it is about."""

    version_id: int
    state: Task.State
    is_new: bool


@dataclass
class Rows:
    """Items, candidates and tasks on their way into one study."""

    study: Study
    overlap: int
    archive: bool
    counts: Counts = field(default_factory=Counts)
    n_waiting: int = 0
    _free_place: float | None = None
    _systems: dict[str, int] = field(default_factory=dict)

    def write(self, records: Sequence[TaskRecord], taken: Taken) -> dict[str, int]:
        """Add the tasks that are not there, with what they need; every task's id by name."""
        there = Task.objects.filter(study=self.study).only("external_id")
        names = [record.external_id for record in records]
        tasks = {task.external_id: task.pk for task in in_batches(there, "external_id", names)}
        new = [record for record in records if record.external_id not in tasks]
        if new:
            places = self._items(new, taken)
            tasks |= self._tasks(new, places, taken)
        return tasks

    def _items(self, records: Sequence[TaskRecord], taken: Taken) -> dict[str, _Place]:
        """Where the tasks go, by the name of their item."""
        wanted = {record.item.external_id: record.item for record in records}
        there = set(existing(Item.objects.filter(study=self.study), "external_id", wanted))
        new = [item for name, item in wanted.items() if name not in there]
        item_ids = copying.new_ids(Item, len(new))
        version_ids = copying.new_ids(ItemVersion, len(new))
        ids = list(zip(item_ids, version_ids, new, strict=True))
        copying.insert_partly(
            Item,
            _ITEM,
            (
                (
                    item_id,
                    self.study.pk,
                    item.external_id,
                    json.dumps(item.strata) if item.strata else "{}",
                    version_id,
                )
                for item_id, version_id, item in ids
            ),
        )
        copying.insert_partly(
            ItemVersion,
            _VERSION,
            (
                (
                    version_id,
                    item_id,
                    *(item.texts.get(name, "") for name in TEXT_FIELDS),
                    taken.clips[item.reference_audio].pk if item.reference_audio else None,
                    taken.clips[item.audio].pk if item.audio else None,
                    content_sha256(item, taken.hashes),
                )
                for item_id, version_id, item in ids
            ),
        )
        self.counts.items += len(new)
        found = {item.external_id: _Place(version_id, Task.State.READY, True) for _, version_id, item in ids}
        # New tasks are about the item as it is now, corrected or not.
        for item in import_corrected.lock_items(self.study, sorted(there)):
            assert item.current_version_id is not None
            found[item.external_id] = _Place(item.current_version_id, _STATES[item.state], False)
        return found

    def _tasks(self, new: Sequence[TaskRecord], places: Mapping[str, _Place], taken: Taken) -> dict[str, int]:
        goes_to = [places[record.item.external_id] for record in new]
        ids = copying.new_ids(Task, len(new))
        keys = self._keys([record.external_id for record in new])
        copying.insert_partly(
            Task,
            _TASK,
            (
                (
                    number,
                    self.study.pk,
                    place.version_id,
                    int(place.state),
                    record.external_id,
                    self._wanted(record),
                    key,
                )
                for number, place, record, key in zip(ids, goes_to, new, keys, strict=True)
            ),
        )
        self._candidates(new, ids, goes_to, taken)
        versions = zip(ids, goes_to, strict=True)
        reviewers.bar_from_new(
            [
                Task(pk=number, item_version_id=place.version_id)
                for number, place in versions
                if not place.is_new
            ]
        )
        self.counts.tasks += len(new)
        self.n_waiting += sum(place.state == Task.State.READY for place in goes_to)
        return {record.external_id: number for record, number in zip(new, ids, strict=True)}

    def _keys(self, names: Sequence[str]) -> list[float]:
        if self._free_place is None:
            self._free_place = queue_places.free_place(self.study)
        keys = queue_places.places(self.study, names, start=self._free_place)
        self._free_place += len(names)
        return keys

    def _wanted(self, record: TaskRecord) -> int:
        return max(len(record.judgments), 1 if self.archive and record.judgments else self.overlap)

    def _candidates(
        self, records: Sequence[TaskRecord], task_ids: Sequence[int], goes_to: Sequence[_Place], taken: Taken
    ) -> None:
        """The candidates of new tasks. Two tasks that show one system's same output share the candidate."""
        self._add_systems([candidate for record in records for candidate in record.candidates])
        known: dict[tuple[int, int, str, int | None], int] = {}
        takes: dict[tuple[int, int], int] = {}
        old = sorted({place.version_id for place in goes_to if not place.is_new})
        for row in in_batches(Candidate.objects.all(), "item_version_id", old):
            known[row.item_version_id, row.system_id, row.text, row.clip_id] = row.pk
            group = row.item_version_id, row.system_id
            takes[group] = max(row.take, takes.get(group, 0))
        fresh: list[tuple[int, int, int, str, int | None]] = []
        slots = []
        for record, task_id, place in zip(records, task_ids, goes_to, strict=True):
            for slot, candidate in enumerate(record.candidates):
                clip_id = taken.clips[candidate.audio].pk if candidate.audio else None
                group = place.version_id, self._systems[candidate.system]
                key = (*group, candidate.text, clip_id)
                if key not in known:
                    takes[group] = takes.get(group, 0) + 1
                    known[key] = -len(fresh) - 1  # has no id yet
                    fresh.append((*group, takes[group], candidate.text, clip_id))
                slots.append((task_id, slot, known[key]))
        ids = copying.new_ids(Candidate, len(fresh))
        copying.insert_partly(
            Candidate, _CANDIDATE, ((number, *values) for number, values in zip(ids, fresh, strict=True))
        )
        copying.insert_partly(
            TaskCandidate,
            _SLOT,
            ((task_id, slot, at if at > 0 else ids[-at - 1]) for task_id, slot, at in slots),
        )

    def _add_systems(self, candidates: Sequence[CandidateRecord]) -> None:
        """Know the systems of these candidates, made where they are not there yet."""
        roles = {one.system: one.role for one in candidates if one.system not in self._systems}
        if not roles:
            return
        made = (System(study=self.study, name=name, role=role) for name, role in sorted(roles.items()))
        System.objects.bulk_create(made, ignore_conflicts=True)
        there = System.objects.filter(study=self.study, name__in=roles)
        self._systems.update(there.values_list("name", "pk"))


def analyze() -> None:
    """Tell PostgreSQL's planner at once: until autovacuum came by, an export of 7,000 judgments took 18 s, not 1.5."""
    tables = (Item, ItemVersion, Candidate, Task, TaskCandidate, Judgment, Answer, Rater)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE " + ", ".join(table._meta.db_table for table in tables))
