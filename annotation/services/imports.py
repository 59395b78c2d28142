"""Bringing a source into a study: read, check against what is there, take the audio in, write, all or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from django.db import transaction

from annotation import audit, protocols
from annotation.importers import FORMATS
from annotation.importers.records import ItemRecord, RowProblem, TaskRecord, content_sha256, faults
from annotation.models import ItemVersion, Job, Study, Task, User
from annotation.services import (
    clips,
    import_judgments,
    import_orders,
    import_rows,
    import_sequels,
    import_soundless,
    import_trials,
    jobs,
    studies,
)
from annotation.services.import_batches import batches
from annotation.services.import_orders import NewStudy, Order
from annotation.services.protocols import loaded

# A report is read by a person: what is wrong a thousand times is wrong in the same way.
MAX_PROBLEMS = 1000
MAX_NOTES = 100


class Progress(Protocol):
    def __call__(self, done: int, total: int | None = None, *, stage: str = "") -> None: ...


@dataclass
class Read:
    """What a source turned into: the records that can be used, and every problem found on the way."""

    by_name: dict[str, TaskRecord] = field(default_factory=dict)
    problems: list[RowProblem] = field(default_factory=list)

    @property
    def records(self) -> list[TaskRecord]:
        return list(self.by_name.values())

    def drop(self, record: TaskRecord, problems: Iterable[RowProblem]) -> None:
        self.by_name.pop(record.external_id, None)
        self.problems += problems


def start(
    study: Study | None,
    source: Path,
    *,
    format: str,
    actor: User | None,
    column_map: Mapping[str, str] | None = None,
    overlap: int | None = None,
    archive: bool = False,
    dry_run: bool = False,
    skip_bad_rows: bool = False,
    new_study: NewStudy | None = None,
) -> Job:
    """Queue an import into a study, or into one that it creates."""
    order = Order(
        str(source.resolve()),
        format,
        dict(column_map or {}),
        overlap,
        archive,
        dry_run,
        skip_bad_rows,
        new_study,
    )
    import_orders.check(study, order)
    return jobs.enqueue("import", study=study, params=asdict(order), actor=actor)


def run(running: jobs.Running) -> dict[str, Any]:
    """Do an import job. Raises jobs.Failure, with the problems found, when nothing was imported."""
    order = Order.from_params(running.job.params)
    study = running.job.study
    if order.dry_run:
        return rehearse(study, order, progress=running.progress)
    protocol = _protocol(study, order)
    read = _read_and_compare(study, order, protocol, running.progress)
    taken = clips.Taken()
    try:
        _take_audio(read, clips.take_in, taken, running.progress)
        _check_content(study, read, taken)
        _check_sounds(read, protocol, taken)
        _stop_at_problems(read, order)
        _add_candidates(study, read, protocol, taken, running.progress)
        _stop_at_problems(read, order)
        running.progress(0, len(read.by_name), stage="writing")
        counts = _write(running, study, order, read, taken)
    except BaseException:
        clips.discard(taken.created)
        raise
    import_rows.analyze()
    return {**_report(read, protocol, taken), "created": asdict(counts)}


def rehearse(study: Study | None, order: Order, *, progress: Progress) -> dict[str, Any]:
    """The whole of an import but the writing: the same problems, or the report of what would be imported."""
    protocol = _protocol(study, order)
    read = _read_and_compare(study, order, protocol, progress)
    taken = clips.Taken()
    _take_audio(read, clips.look_at, taken, progress)
    _check_content(study, read, taken)
    _check_sounds(read, protocol, taken)
    _stop_at_problems(read, order)
    return {**_report(read, protocol, taken), "dry_run": True}


@transaction.atomic
def _write(
    running: jobs.Running, study: Study | None, order: Order, read: Read, taken: clips.Taken
) -> import_rows.Counts:
    job, actor = running.job, running.job.created_by
    if study is None:
        assert order.new_study is not None
        study = studies.create(**asdict(order.new_study), actor=actor)
        Job.objects.filter(pk=job.pk).update(study=study)
    counts = import_rows.write(study, read.records, taken, overlap=order.overlap, archive=order.archive)
    audit.record(
        "import.done",
        actor=actor,
        study=study,
        subject=f"job {job.pk}",
        format=order.format,
        **asdict(counts),
    )
    if order.archive and not Task.objects.filter(study=study, wants_more=True).exists():
        studies.set_state(study, Study.State.CLOSED, actor=actor)
    if counts.tasks:
        import_sequels.set_going(study, actor=actor)
    running.confirm()
    return counts


def _protocol(study: Study | None, order: Order) -> protocols.Protocol:
    if study is not None:
        return loaded(study.protocol_version_id).spec
    assert order.new_study is not None
    return protocols.preset(order.new_study.preset)


def _read_and_compare(
    study: Study | None, order: Order, protocol: protocols.Protocol, progress: Progress
) -> Read:
    read = Read()
    entries = FORMATS[order.format].read(Path(order.source), protocol, order.column_map)
    for number, entry in enumerate(entries, 1):
        progress(number, stage="reading")
        if isinstance(entry, RowProblem):
            read.problems.append(entry)
        elif found := [*faults(entry), *import_trials.faults(entry, protocol)]:
            read.problems += found
        elif (earlier := read.by_name.setdefault(entry.external_id, entry)) is not entry:
            problem = f"{entry.external_id!r} is on row {earlier.row} as well"
            read.problems.append(
                RowProblem(entry.row, "id", problem, "Keep one of the two, or give one another id.")
            )
    if not read.by_name and not read.problems:
        problem = f"{Path(order.source).name} holds nothing to import"
        read.problems.append(RowProblem("", "", problem, "Is it the right file, in the right format?"))
    _check_one_content_per_item(read)
    for record, fault in list(import_soundless.faults(study, order, protocol, read.records)):
        read.drop(record, [fault])
    if study is not None:
        _compare_with_earlier(study, read)
    return read


def _check_one_content_per_item(read: Read) -> None:
    """Tasks about one item must agree on what the item is."""
    items: dict[str, TaskRecord] = {}
    for record in read.records:
        first = items.setdefault(record.item.external_id, record)
        if first.item != record.item:
            problem = f"item {record.item.external_id!r} has other content on row {first.row}"
            remedy = "Give it another item id, or make the texts the same."
            read.drop(record, [RowProblem(record.row, "item", problem, remedy)])


ONLY_ADDS = "Corrections are made in the product, as a new version; import changed material under a new id."


def _compare_with_earlier(study: Study, read: Read) -> None:
    """What a rater said before must be what they said now."""
    for record, said in import_judgments.changed(study, read.records):
        problem = f"what {said.rater or 'somebody unnamed'} said was imported before, and was something else"
        read.drop(record, [RowProblem(said.row, "answer", problem, ONLY_ADDS)])


def _check_content(study: Study | None, read: Read, taken: clips.Taken) -> None:
    """Tasks and items imported before must be what they were: imports add, they never overwrite."""
    if study is None:
        return
    earlier = import_rows.candidates_of(study, list(read.by_name))
    for record in read.records:
        given = [
            (candidate.system, candidate.text, taken.hashes.get(candidate.audio) if candidate.audio else None)
            for candidate in record.candidates
        ]
        if earlier.get(record.external_id, given) != given:
            problem = f"{record.external_id!r} was imported before with other candidates"
            read.drop(record, [RowProblem(record.row, "id", problem, ONLY_ADDS)])
    items: dict[str, ItemRecord] = {record.item.external_id: record.item for record in read.records}
    versions = ItemVersion.objects.filter(item__study=study, number=1)
    known: dict[str, str] = {}
    for names in batches(list(items)):
        rows = versions.filter(item__external_id__in=names)
        known.update(rows.values_list("item__external_id", "content_sha256"))
    for record in read.records:
        before = known.get(record.item.external_id)
        if before is not None and before != content_sha256(record.item, taken.hashes):
            problem = f"{record.item.external_id!r} was imported before with other content"
            read.drop(record, [RowProblem(record.row, "item", problem, ONLY_ADDS)])


def _check_sounds(read: Read, protocol: protocols.Protocol, taken: clips.Taken) -> None:
    for record in read.records:
        if found := list(import_trials.faults_of_sound(record, protocol, taken)):
            read.drop(record, found)


def _add_candidates(
    study: Study | None, read: Read, protocol: protocols.Protocol, taken: clips.Taken, progress: Progress
) -> None:
    """Give new tasks what their protocol adds to them; those imported before have it."""
    there = set(import_rows.candidates_of(study, list(read.by_name))) if study and protocol.added else set()
    new = [record for record in read.records if record.external_id not in there]
    complete, problems = import_trials.with_added(
        new, protocol, taken, on_progress=lambda done, total: progress(done, total, stage="audio")
    )
    for record in new:
        read.drop(record, [])
    read.by_name.update({record.external_id: record for record in complete})
    read.problems += problems


class _Taker(Protocol):
    def __call__(
        self, paths: Iterable[Path], *, into: clips.Taken, on_progress: clips.OnProgress
    ) -> None: ...


def _take_audio(read: Read, take: _Taker, taken: clips.Taken, progress: Progress) -> None:
    """Take in, or only look at, every file the records need; records with a bad file are dropped."""
    wanted: dict[Path, list[tuple[TaskRecord, str]]] = {}
    for record in read.records:
        for name, path in record.audio():
            wanted.setdefault(path, []).append((record, name))
    take(wanted, into=taken, on_progress=lambda done, total: progress(done, total, stage="audio"))
    for path, error in taken.errors.items():
        for record, name in wanted[path]:
            read.drop(record, [RowProblem(record.row, name, f"{path.name}: {error.message}", error.remedy)])


def _stop_at_problems(read: Read, order: Order) -> None:
    if not read.problems or (order.skip_bad_rows and read.by_name):
        return
    n = len(read.problems)
    raise jobs.Failure(
        f"{n} problem{'s' if n > 1 else ''} found; nothing was imported.",
        report={"problems": _shown(read.problems), "n_problems": n},
    )


def _report(read: Read, protocol: protocols.Protocol, taken: clips.Taken) -> dict[str, Any]:
    silent = (f"{path.name} is silent; raters will hear nothing." for path in taken.silent)
    notes = [*silent, *import_trials.notes(read.records, protocol, taken)]
    return {
        "tasks": len(read.by_name),
        "judgments": sum(len(record.judgments) for record in read.records),
        "problems": _shown(read.problems),
        "n_problems": len(read.problems),
        "notes": notes[:MAX_NOTES],
    }


def _shown(problems: list[RowProblem]) -> list[dict[str, str]]:
    return [asdict(problem) for problem in problems[:MAX_PROBLEMS]]
