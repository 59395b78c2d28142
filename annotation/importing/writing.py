"""The last stage of an import: staged rows are written into the study, in one transaction."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from django.db import connection, transaction
from django.db.models import F, Q
from psycopg.types.json import Jsonb

from annotation import bulk_queries, hooks
from annotation.bulk_queries import batches, existing_values, rows_in_batches
from annotation.importing import merging, staging
from annotation.importing.clips import IngestedAudio
from annotation.importing.options import ImportOptions, NewStudy
from annotation.importing.records import (
    TEXT_FIELDS,
    CandidateRecord,
    JudgmentRecord,
    TaskRecord,
    audio_file_name,
    content_sha256,
    decode_task,
)
from annotation.items import task_replacement
from annotation.items.corrections import holds_correction
from annotation.jobs import jobs
from annotation.models import (
    Answer,
    Candidate,
    Exclusion,
    Item,
    ItemVersion,
    Job,
    Judgment,
    Rater,
    StagedImport,
    Study,
    System,
    Task,
    TaskCandidate,
    User,
)
from annotation.raters import withdrawal
from annotation.rating import exclusions, overlap
from annotation.rating.rules.counterbalancing import order_balance_step
from annotation.rating.rules.exclusions import TaskPlaces
from annotation.review import barred_reviewers
from annotation.studies import audit, studies
from annotation.studies.protocols import LoadedProtocol, load_protocol

# Outdated judgments. A source is about the first versions of items (an import checks that). Its judgments of tasks
# that are about a later version, or withdrawn, are stored but do not count.


def _lock_items(study: Study, external_ids: Sequence[str]) -> Iterable[Item]:
    """The items that new tasks are added to, with their versions as they are and stay until the import is done."""
    for names in batches(external_ids):
        items = Item.objects.filter(study=study, external_id__in=names)
        list(items.select_for_update(no_key=True).order_by("pk").values_list("pk"))
        yield from items.select_related("current_version")


def outdated_judgments(judgments: Sequence[Judgment]) -> dict[str, list[int]]:
    """Those of new judgments that are of what has changed since, by what happened to it."""
    by_reason = {}
    for reason, changed in (("item_withdrawn", _WITHDRAWN), ("item_corrected", _CORRECTED & ~_WITHDRAWN)):
        tasks: set[int] = set()
        for task_ids in batches(sorted({judgment.task_id for judgment in judgments})):
            tasks.update(Task.objects.filter(changed, pk__in=task_ids).values_list("pk", flat=True))
        by_reason[reason] = [judgment.pk for judgment in judgments if judgment.task_id in tasks]
    return by_reason


def exclude_outdated(study: Study, outdated: Mapping[str, Sequence[int]]) -> None:
    """Keep judgments out of the count for a reason. Holds the locks of their tasks and raters."""
    for reason, ids in outdated.items():
        if ids:
            exclusions.exclude_or_restore(
                Judgment.objects.filter(pk__in=ids),
                study=study,
                action=Exclusion.Action.EXCLUDE,
                reason=reason,
                actor=None,
                subject="import",
                by_review=True,
            )


_WITHDRAWN = Q(item_version__item__state=Item.State.WITHDRAWN)
_CORRECTED = Q(state=Task.State.WITHDRAWN) | Q(holds_correction("item_version__"))


# A task that comes to an item which was withdrawn here goes with it.
_TASK_STATES: dict[str, Task.State] = {
    Item.State.ACTIVE: Task.State.READY,
    Item.State.WITHDRAWN: Task.State.WITHDRAWN,
}
_ITEM_COLUMNS = ("id", "study_id", "external_id", "strata", "current_version_id")
_VERSION_COLUMNS = (
    "id", "item_id", *TEXT_FIELDS, "reference_clip_id", "clip_id", "reference_clip_file", "clip_file", "content_sha256",
)  # fmt: skip
_TASK_COLUMNS = ("id", "study_id", "item_version_id", "state", "external_id", "overlap", "shuffle_key")
_CANDIDATE_COLUMNS = ("id", "item_version_id", "system_id", "take", "text", "clip_id", "clip_file")
_SLOT_COLUMNS = ("task_id", "slot", "candidate_id")


@dataclass
class ImportCounts:
    """What an import added."""

    items: int = 0
    tasks: int = 0
    judgments: int = 0
    raters: int = 0


def candidates_of(study: Study, external_ids: Sequence[str]) -> dict[str, list[tuple[str, str, str | None]]]:
    """By task, the (system, text, SHA-256 of the audio) of its slots in order; only tasks that exist, and of them only
    the candidates that a source names: those that an import adds by itself are left out."""
    candidates: dict[str, list[tuple[str, str, str | None]]] = {}
    for names in batches(external_ids, 5000):
        judged = TaskCandidate.objects.filter(candidate__system__role=System.Role.JUDGED)
        rows = judged.filter(task__study=study, task__external_id__any_of=names).order_by("task_id", "slot")
        for name, *candidate in rows.values_list(
            "task__external_id", "candidate__system__name", "candidate__text", "candidate__clip__sha256"
        ):
            candidates.setdefault(name, []).append((candidate[0], candidate[1], candidate[2]))
    return candidates


@dataclass(frozen=True)
class _TaskPlacement:
    """Where a task goes: the version of its item that it is about."""

    version_id: int
    state: Task.State
    is_new: bool


@dataclass
class JudgmentTally:
    """What is counted of new judgments once all are in: raters and studies are locked after every task."""

    by_rater: Counter[int] = field(default_factory=Counter)
    n_unnamed: int = 0
    n_filled: int = 0

    def count(self, study: Study) -> None:
        overlap.lock_raters(self.by_rater)
        for rater_id, n in self.by_rater.items():
            Rater.objects.filter(pk=rater_id).update(n_judgments=F("n_judgments") + n)
        Study.objects.filter(pk=study.pk).update(
            n_unnamed_judgments=F("n_unnamed_judgments") + self.n_unnamed,
            n_unnamed_tasks_filled=F("n_unnamed_tasks_filled") + self.n_filled,
        )


@dataclass
class StudyWriter:
    """Tasks on their way into one study, with their items, candidates, raters and judgments."""

    study: Study
    overlap: int
    archive: bool
    counts: ImportCounts = field(default_factory=ImportCounts)
    tally: JudgmentTally = field(default_factory=JudgmentTally)
    outdated: dict[str, list[int]] = field(default_factory=dict)
    n_waiting: int = 0
    first_judgment: int | None = None
    _free_place: float | None = None
    _systems: dict[str, int] = field(default_factory=dict)

    def write(self, records: Sequence[TaskRecord], staged: StagedImport) -> None:
        tasks = self._new_tasks(records, staging.staged_clips(staged, records))
        raters = _raters(self.study, records, self.counts)
        judgments = write_judgments(self.study, records, tasks, raters, self.tally)
        for reason, ids in outdated_judgments(judgments).items():
            self.outdated.setdefault(reason, []).extend(ids)
        self.counts.judgments += len(judgments)
        if self.first_judgment is None and judgments:
            self.first_judgment = min(judgment.pk for judgment in judgments)
        with connection.cursor() as cursor:
            # Keys are checked page by page: what waits for the end of a transaction waits in the server's memory.
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")

    def finished(self) -> ImportCounts:
        study = self.study
        self.tally.count(study)
        exclude_outdated(study, self.outdated)
        if self.first_judgment is not None:
            withdrawal.exclude_late_imports(study, self.tally.by_rater, since=self.first_judgment)
        Study.objects.filter(pk=study.pk).update(
            n_items=F("n_items") + self.counts.items, n_tasks=F("n_tasks") + self.n_waiting
        )
        return self.counts

    def _new_tasks(self, records: Sequence[TaskRecord], audio: IngestedAudio) -> dict[str, int]:
        """Add the tasks that are not there, with what they need; every task's id by name."""
        existing = Task.objects.filter(study=self.study).only("external_id")
        names = [record.external_id for record in records]
        tasks = {task.external_id: task.pk for task in rows_in_batches(existing, "external_id", names)}
        new = [record for record in records if record.external_id not in tasks]
        if new:
            placements = self._items(new, audio)
            tasks |= self._tasks(new, placements, audio)
        return tasks

    def _items(self, records: Sequence[TaskRecord], audio: IngestedAudio) -> dict[str, _TaskPlacement]:
        """Where the tasks go, by the name of their item."""
        items = {record.item.external_id: record.item for record in records}
        existing = set(existing_values(Item.objects.filter(study=self.study), "external_id", items))
        new = [item for name, item in items.items() if name not in existing]
        item_ids = bulk_queries.reserve_ids(Item, len(new))
        version_ids = bulk_queries.reserve_ids(ItemVersion, len(new))
        ids = list(zip(item_ids, version_ids, new, strict=True))
        study_id, clips = self.study.pk, audio.clips
        bulk_queries.copy_columns(
            Item,
            _ITEM_COLUMNS,
            (
                (pk, study_id, item.external_id, json.dumps(dict(item.strata)), version_id)
                for pk, version_id, item in ids
            ),
        )
        versions = (
            (
                version_id,
                item_id,
                *(item.texts.get(name, "") for name in TEXT_FIELDS),
                clips[item.reference_audio].pk if item.reference_audio else None,
                clips[item.audio].pk if item.audio else None,
                audio_file_name(item.reference_audio),
                audio_file_name(item.audio),
                content_sha256(item, audio.hashes),
            )
            for item_id, version_id, item in ids
        )
        bulk_queries.copy_columns(ItemVersion, _VERSION_COLUMNS, versions)
        self.counts.items += len(new)
        placements = {
            item.external_id: _TaskPlacement(version_id, Task.State.READY, True)
            for _, version_id, item in ids
        }
        # New tasks are about the item as it is now, corrected or not.
        for item in _lock_items(self.study, sorted(existing)):
            assert item.current_version_id is not None
            placements[item.external_id] = _TaskPlacement(
                item.current_version_id, _TASK_STATES[item.state], False
            )
        return placements

    def _tasks(
        self, new: Sequence[TaskRecord], placements: Mapping[str, _TaskPlacement], audio: IngestedAudio
    ) -> dict[str, int]:
        task_placements = [placements[record.item.external_id] for record in new]
        ids = bulk_queries.reserve_ids(Task, len(new))
        keys = self._keys([record.external_id for record in new])
        study_id = self.study.pk
        rows = (
            (pk, study_id, to.version_id, int(to.state), record.external_id, self._overlap(record), key)
            for pk, to, record, key in zip(ids, task_placements, new, keys, strict=True)
        )
        bulk_queries.copy_columns(Task, _TASK_COLUMNS, rows)
        self._candidates(new, ids, task_placements, audio)
        known = [(pk, place) for pk, place in zip(ids, task_placements, strict=True) if not place.is_new]
        barred_reviewers.bar_reviewers_from_tasks(
            [Task(pk=pk, item_version_id=place.version_id) for pk, place in known]
        )
        self.counts.tasks += len(new)
        self.n_waiting += sum(place.state == Task.State.READY for place in task_placements)
        return {record.external_id: number for record, number in zip(new, ids, strict=True)}

    def _keys(self, names: Sequence[str]) -> list[float]:
        if self._free_place is None:
            self._free_place = task_replacement.next_free_position(self.study)
        keys = task_replacement.queue_positions(self.study, names, start=self._free_place)
        self._free_place += len(names)
        return keys

    def _overlap(self, record: TaskRecord) -> int:
        return max(len(record.judgments), 1 if self.archive and record.judgments else self.overlap)

    def _candidates(
        self,
        records: Sequence[TaskRecord],
        task_ids: Sequence[int],
        placements: Sequence[_TaskPlacement],
        audio: IngestedAudio,
    ) -> None:
        """The candidates of new tasks. Two tasks that show one system's same output share the candidate."""
        self._add_systems([candidate for record in records for candidate in record.candidates])
        candidate_ids: dict[tuple[int, int, str, int | None], int] = {}
        takes: dict[tuple[int, int], int] = {}
        old = sorted({place.version_id for place in placements if not place.is_new})
        for row in rows_in_batches(Candidate.objects.all(), "item_version_id", old):
            candidate_ids[row.item_version_id, row.system_id, row.text, row.clip_id] = row.pk
            group = row.item_version_id, row.system_id
            takes[group] = max(row.take, takes.get(group, 0))
        new_candidates: list[tuple[int, int, int, str, int | None, str]] = []
        slots = []
        for record, task_id, place in zip(records, task_ids, placements, strict=True):
            for slot, candidate in enumerate(record.candidates):
                clip_id = audio.clips[candidate.audio].pk if candidate.audio else None
                group = place.version_id, self._systems[candidate.system]
                key = (*group, candidate.text, clip_id)
                if key not in candidate_ids:
                    takes[group] = takes.get(group, 0) + 1
                    candidate_ids[key] = -len(new_candidates) - 1  # has no id yet
                    name = audio_file_name(candidate.audio)
                    new_candidates.append((*group, takes[group], candidate.text, clip_id, name))
                slots.append((task_id, slot, candidate_ids[key]))
        ids = bulk_queries.reserve_ids(Candidate, len(new_candidates))
        bulk_queries.copy_columns(
            Candidate,
            _CANDIDATE_COLUMNS,
            ((number, *values) for number, values in zip(ids, new_candidates, strict=True)),
        )
        bulk_queries.copy_columns(
            TaskCandidate,
            _SLOT_COLUMNS,
            ((task_id, slot, at if at > 0 else ids[-at - 1]) for task_id, slot, at in slots),
        )

    def _add_systems(self, candidates: Sequence[CandidateRecord]) -> None:
        """Know the systems of these candidates, made where they are not there yet."""
        roles = {one.system: one.role for one in candidates if one.system not in self._systems}
        if not roles:
            return
        systems = (System(study=self.study, name=name, role=role) for name, role in sorted(roles.items()))
        System.objects.bulk_create(systems, ignore_conflicts=True)
        existing = System.objects.filter(study=self.study, name__in=roles)
        self._systems.update(existing.values_list("name", "pk"))


def analyze_tables() -> None:
    """Tell PostgreSQL's planner at once: until autovacuum came by, an export of 7,000 judgments took 18 s, not 1.5."""
    tables = (Item, ItemVersion, Candidate, Task, TaskCandidate, Judgment, Answer, Rater)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE " + ", ".join(table._meta.db_table for table in tables))


# Imported judgments, counted on their tasks and raters

# The columns that `_answers` fills.
ANSWER_COLUMNS = (
    "judgment_id", "task_id", "question_id", "candidate_id", "choice", "value", "confidence", "text",
    "selected", "events", "counted",
)  # fmt: skip
# A task that the judgments fill beyond its overlap gets a larger one: nothing that was said is left out.
_COUNT_SQL = """
UPDATE annotation_task t
SET n_judgments = t.n_judgments + m.n, order_balance = t.order_balance + m.step,
    overlap = greatest(t.overlap, t.n_judgments + m.n + t.n_leases)
FROM unnest(%s::bigint[], %s::int[], %s::int[]) AS m (id, n, step)
WHERE t.id = m.id
"""


@dataclass(frozen=True)
class _NewJudgment:
    """A judgment that is not there yet, and where it goes."""

    client_id: uuid.UUID
    task_id: int
    rater: Rater | None
    record: JudgmentRecord


def write_judgments(
    study: Study,
    records: Sequence[TaskRecord],
    tasks: Mapping[str, int],
    raters: Mapping[str, Rater],
    tally: JudgmentTally,
) -> list[Judgment]:
    """Add what is not there yet: the new judgments. Their tasks, given by id, are locked and counted then."""
    protocol = load_protocol(study.protocol_version_id)
    imported = [
        _NewJudgment(
            _client_id(record, judgment_record, raters),
            tasks[record.external_id],
            raters.get(judgment_record.rater),
            judgment_record,
        )
        for record in records
        for judgment_record in record.judgments
    ]
    if not imported:
        return []
    existing = {
        (row.task_id, row.client_id) for row in _imported_judgments({new.task_id for new in imported})
    }
    # Whose wish it was to be taken out is not brought back by a source that still has them.
    withdrawn = {rater.external_id for rater in raters.values() if rater.state == Rater.State.WITHDRAWN}
    added = [
        new
        for new in imported
        if (new.task_id, new.client_id) not in existing and new.record.rater not in withdrawn
    ]
    _count_judgments(added, tally)
    judgments = [
        Judgment(
            study=study,
            task_id=new.task_id,
            rater=new.rater,
            protocol_version_id=protocol.version_id,
            client_id=new.client_id,
            payload_sha256=_content_sha256(new.record),
            origin=Judgment.Origin.IMPORTED,
            presentation=None if new.record.presentation is None else list(new.record.presentation),
            codes=list(new.record.codes),
            comment=new.record.comment,
        )
        for new in added
    ]
    bulk_queries.copy_rows(judgments)
    candidates = _candidates_by_slot(added)
    answers = (
        answer
        for judgment, new in zip(judgments, added, strict=True)
        for answer in _answers(judgment, new.record, protocol, candidates)
    )
    bulk_queries.copy_values(Answer._meta.db_table, ANSWER_COLUMNS, answers)
    return judgments


def changed_judgments(
    study: Study, records: Sequence[TaskRecord]
) -> Iterator[tuple[TaskRecord, JudgmentRecord]]:
    """Judgments that are there already but said something else."""
    raters = _known_raters(study, _rater_names(records))
    by_client_id = {
        _client_id(record, judgment_record, raters): (record, judgment_record)
        for record in records
        for judgment_record in record.judgments
        if not judgment_record.rater or judgment_record.rater in raters
    }
    names = [record.external_id for record in records if record.judgments]
    tasks = {
        task.pk for task in rows_in_batches(Task.objects.filter(study=study).only("pk"), "external_id", names)
    }
    for judgment in _imported_judgments(tasks):
        record, judgment_record = by_client_id.get(judgment.client_id, (None, None))
        if judgment_record and record and bytes(judgment.payload_sha256) != _content_sha256(judgment_record):
            yield record, judgment_record


def _rater_names(records: Sequence[TaskRecord]) -> set[str]:
    return {judgment.rater for record in records for judgment in record.judgments if judgment.rater}


def _known_raters(study: Study, names: Collection[str]) -> dict[str, Rater]:
    known = rows_in_batches(Rater.objects.filter(study=study), "external_id", sorted(names))
    return {rater.external_id: rater for rater in known}


def _imported_judgments(task_ids: Collection[int]) -> Iterator[Judgment]:
    rows = Judgment.objects.filter(origin=Judgment.Origin.IMPORTED)
    return rows_in_batches(rows.only("task_id", "client_id", "payload_sha256"), "task_id", sorted(task_ids))


def _content_sha256(judgment: JudgmentRecord) -> bytes:
    answers = [answer.fields for answer in judgment.answers]
    content = [answers, judgment.codes, judgment.comment, judgment.presentation]
    return hashlib.sha256(json.dumps(content).encode()).digest()


def _client_id(record: TaskRecord, judgment: JudgmentRecord, raters: Mapping[str, Rater]) -> uuid.UUID:
    """The same name whenever the same judgment is imported. Exports carry it, so it is made from the rater's
    pseudonym: made from the source's name for them, which may be an address, it would let that be guessed."""
    name = raters[judgment.rater].pseudonym if judgment.rater else judgment.key
    return uuid.uuid5(uuid.NAMESPACE_OID, f"{record.external_id}\x1f{name}")


def _candidates_by_slot(added: Sequence[_NewJudgment]) -> dict[tuple[int, int], int]:
    """Candidate ids by task and slot, of the tasks in which some answer is about one candidate."""
    tasks = sorted({new.task_id for new in added for answer in new.record.answers if answer.slot is not None})
    slots = rows_in_batches(TaskCandidate.objects.all(), "task_id", tasks)
    return {(row.task_id, row.slot): row.candidate_id for row in slots}


def _answers(
    judgment: Judgment,
    record: JudgmentRecord,
    protocol: LoadedProtocol,
    candidates: Mapping[tuple[int, int], int],
) -> Iterator[tuple[object, ...]]:
    for answer in record.answers:
        yield (
            judgment.pk,
            judgment.task_id,
            protocol.question_ids[answer.question],
            None if answer.slot is None else candidates[judgment.task_id, answer.slot],
            answer.choice,
            answer.value,
            answer.confidence,
            answer.text,
            None if answer.selected is None else list(answer.selected),
            None if answer.events is None else Jsonb(list(answer.events)),
            True,
        )


def _newly_full(before: TaskPlaces, n: int) -> int:
    """How many more full tasks there are once `n` judgments are in; the overlap grows past live leases."""
    after = before.n_judgments + n
    overlap = max(before.overlap, after + before.n_leases)
    return int(after >= overlap) - int(before.n_judgments >= before.overlap)


def _count_judgments(added: Sequence[_NewJudgment], tally: JudgmentTally) -> None:
    by_task: dict[int, list[_NewJudgment]] = {}
    for new in added:
        by_task.setdefault(new.task_id, []).append(new)
    places = overlap.lock_tasks(set(by_task))
    with connection.cursor() as cursor:
        steps = [
            sum(order_balance_step(new.record.presentation or ()) for new in judgments)
            for judgments in by_task.values()
        ]
        cursor.execute(_COUNT_SQL, [list(by_task), [len(judgments) for judgments in by_task.values()], steps])
    tally.by_rater.update(new.rater.pk for new in added if new.rater)
    tally.n_unnamed += sum(new.rater is None for new in added)
    tally.n_filled += sum(
        _newly_full(places[task_id], len(judgments)) for task_id, judgments in by_task.items()
    )


WRITE_PAGE = 5000
# Items before tasks, tasks before raters, each in the order of their ids, the study last: whatever else locks several
# of them does so too. What new tasks and judgments are added to is locked before anything is written.
_LOCK_SQL = """
SELECT count(*) FROM (
    SELECT i.id FROM annotation_item i
    WHERE i.study_id = %(study)s AND i.external_id IN (
        SELECT s.item_name FROM annotation_stagedtask s WHERE s.job = %(job)s AND NOT EXISTS (
            SELECT FROM annotation_task t WHERE t.study_id = %(study)s AND t.external_id = s.task_name))
    ORDER BY i.id FOR NO KEY UPDATE OF i
) AS items;
SELECT count(*) FROM (
    SELECT t.id FROM annotation_task t
    WHERE t.study_id = %(study)s AND t.external_id IN (
        SELECT s.task_name FROM annotation_stagedtask s WHERE s.job = %(job)s AND s.said IS NOT NULL)
    ORDER BY t.id FOR NO KEY UPDATE OF t
) AS tasks
"""


def write_staged(running: jobs.RunningJob, options: ImportOptions, staged: StagedImport) -> ImportCounts:
    """Write what is staged, with its counters and its record in the audit log. Raises Cancelled, LostLease."""
    total, done = staging.count_staged(staged), 0
    with running.report_over_second_connection(), transaction.atomic():
        study = running.job.study
        if study is None:
            assert options.new_study is not None
            study = _create_study(options.new_study, actor=running.job.created_by)
        writer = _begin_writing(study, options, staged)
        for _, tasks in staging.staged_pages(staged, size=WRITE_PAGE):
            records = [decode_task(task) for task in tasks]
            for record in records:
                merging.merge_judgments(record)
            writer.write(records, staged)
            done += len(tasks)
            running.progress(done, total, stage="writing")
        counts = writer.finished()
        _conclude(running, study, options, counts)
        staged.written = asdict(counts)
        staged.save()
        running.confirm()
    return counts


def _create_study(new: NewStudy, *, actor: User | None) -> Study:
    owner = User.objects.get(pk=new.owner) if new.owner is not None else None
    return studies.create_study(
        slug=new.slug, title=new.title, preset=new.preset, overlap=new.overlap, actor=actor, owner=owner
    )


def _begin_writing(study: Study, options: ImportOptions, staged: StagedImport) -> StudyWriter:
    # One import of a study at a time: the second finds what the first has added. Not by the study's row: that comes
    # last in the order of locks.
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('import'), %s::int)", [study.pk])
        for statement in _LOCK_SQL.split(";"):
            cursor.execute(statement, {"study": study.pk, "job": staged.job})
    study.refresh_from_db()
    return StudyWriter(study, options.overlap or study.overlap, options.is_archive)


def _raters(study: Study, records: Sequence[TaskRecord], counts: ImportCounts) -> dict[str, Rater]:
    names = _rater_names(records)
    existing = _known_raters(study, names)
    new = Rater.objects.bulk_create(
        Rater(study=study, external_id=name, origin=Rater.Origin.IMPORTED)
        for name in sorted(names - set(existing))
    )
    counts.raters += len(new)
    return existing | {rater.external_id: rater for rater in new}


def _conclude(running: jobs.RunningJob, study: Study, options: ImportOptions, counts: ImportCounts) -> None:
    """Log, close an archive and notify. The job's own row is touched last: its lock keeps others from cancelling."""
    job, actor = running.job, running.job.created_by
    audit.record(
        "import.done",
        actor=actor,
        study=study,
        subject=f"job {job.pk}",
        format=options.format,
        **asdict(counts),
    )
    if options.is_archive and not Task.objects.filter(study=study, wants_more=True).exists():
        studies.set_study_state(study, Study.State.CLOSED, actor=actor)
    if counts.tasks:
        hooks.run_after_import(study, actor=actor)
    if job.study_id is None:
        Job.objects.filter(pk=job.pk).update(study=study)
