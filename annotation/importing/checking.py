"""The third stage of an import: each task, page by page, is compared with what the study has, and its sounds taken in.

A page's effects are one transaction with the note that it is done: a worker that takes over goes on with the next.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from django.db import connection, transaction

from annotation import protocols
from annotation.bulk_queries import batches
from annotation.importing import clips, merging, mushra, rows, staging
from annotation.importing.options import ImportOptions
from annotation.importing.records import (
    EncodedTask,
    ItemRecord,
    RowProblem,
    TaskRecord,
    content_sha256,
    decode_task,
    encode_candidates,
)
from annotation.importing.staging import MAX_NOTES, Progress, StagedAudio
from annotation.models import ItemVersion, StagedImport, Study
from annotation.protocols import Protocol

# Releases that come without their sounds: what was judged can be imported, what still waits for raters
# cannot.


ADD_AUDIO_REMEDY = (
    "Put the sounds beside the source; "
    "or import it as finished data: no more judgments wanted than it brings."
)


def missing_audio_problems(
    study: Study | None, order: ImportOptions, protocol: Protocol, records: Sequence[TaskRecord]
) -> Iterator[tuple[TaskRecord, RowProblem]]:
    """New tasks that raters would get with nothing to hear, though their protocol wants it heard."""
    waiting = [
        record
        for record in records
        if _wants_judgments(record, study, order) and _lacks_audio(record, protocol)
    ]
    there = rows.candidates_of(study, [record.external_id for record in waiting]) if study else {}
    for record in waiting:
        if record.external_id not in there:
            problem = "wants more judgments, and there is no sound to give them on"
            yield record, RowProblem(record.row, "audio", problem, ADD_AUDIO_REMEDY)


def _wants_judgments(record: TaskRecord, study: Study | None, order: ImportOptions) -> bool:
    given = len(record.judgments)
    if order.archive and given:
        return False
    default = study.overlap if study else order.new_study.overlap if order.new_study else 1
    return given < (order.overlap or default)


def _lacks_audio(record: TaskRecord, protocol: Protocol) -> bool:
    heard = {
        "candidates": [candidate.audio for candidate in record.candidates],
        "clip": [record.item.audio],
        "reference_clip": [record.item.reference_audio],
    }
    return any(None in heard[name] for name in protocol.listening.must_hear)


# Strata that a source gives otherwise than the import before it: they stay as they are, which is told.


# Rows about one item may differ in their strata, and the first row's stand: so the first is what counts here, too.
# Strata that a source does not name are not contradicted. `rest` is taken apart before its strata are made `jsonb`:
# names of columns may be what no `jsonb` holds.
_CHANGED_STRATA_SQL = """
WITH firsts AS (
    SELECT item_name, min(ordinal) AS ordinal FROM annotation_stagedtask WHERE job = %(job)s GROUP BY item_name
), found AS (
    SELECT s.ordinal, s."row", s.item_name, (s.rest::json -> 0)::jsonb AS said, i.strata
    FROM firsts
    JOIN annotation_stagedtask s ON s.job = %(job)s AND s.ordinal = firsts.ordinal
    JOIN annotation_item i ON i.study_id = %(study)s AND i.external_id = firsts.item_name
)
SELECT count(*) OVER (), "row", item_name, said, strata FROM found
WHERE NOT strata @> said ORDER BY ordinal LIMIT 1
"""


def changed_strata_notes(study: Study, staged: StagedImport) -> list[str]:
    """How many items the study has in other strata than the source says, with the first of them."""
    with connection.cursor() as cursor:
        cursor.execute(_CHANGED_STRATA_SQL, {"job": staged.job, "study": study.pk})
        found = cursor.fetchone()
    if found is None:
        return []
    n, row, item, said, there = found
    items = f"{n:,} items have" if n > 1 else "1 item has"
    example = _first_difference(json.loads(said), json.loads(there))
    return [
        f"{items} other strata here than in the study, where they stay as they are: of {item!r} (row {row}) {example}."
    ]


def _first_difference(said: Mapping[str, str], there: Mapping[str, str]) -> str:
    name = min(name for name, value in said.items() if there.get(name) != value)
    before = f"is {there[name]!r} there" if name in there else "is not there"
    return f"{name} is {said[name]!r} here and {before}"


CHECK_PAGE = 2000
ONLY_ADDS = "Corrections are made in the product, as a new version; import changed material under a new id."


@dataclass
class CheckedPage:
    """The tasks of a page that can be used so far, and every problem found on the way."""

    by_name: dict[str, TaskRecord]
    problems: list[RowProblem] = field(default_factory=list)

    @property
    def records(self) -> list[TaskRecord]:
        return list(self.by_name.values())

    def drop(self, record: TaskRecord, problems: Iterable[RowProblem]) -> None:
        self.by_name.pop(record.external_id, None)
        self.problems += problems


@dataclass
class ImportCheck:
    """What the tasks of an import are held against."""

    study: Study | None
    order: ImportOptions
    protocol: protocols.Protocol
    staged: StagedImport

    def run(self, progress: Progress) -> None:
        """Hold every task that is staged against it, from where a worker before came to."""
        staged, total = self.staged, staging.count_staged(self.staged)
        done = 0
        for ordinals, tasks in staging.staged_pages(staged, size=CHECK_PAGE, after=staged.checked_to):
            self._page(dict(zip(ordinals, tasks, strict=True)), progress)
            done += len(tasks)
            progress(done, total, stage="checking")
        if (earlier := self._earlier) is not None:
            staged.notes = [*changed_strata_notes(earlier, staged), *staged.notes][:MAX_NOTES]
        staged.checked = True
        staged.save()

    def _page(self, tasks: dict[int, EncodedTask], progress: Progress) -> None:
        staged = self.staged
        ordinals = {task.task_name: ordinal for ordinal, task in tasks.items()}
        page = CheckedPage({task.task_name: decode_task(task) for task in tasks.values()})
        for record in page.records:
            page.problems += merging.merge_judgments(record)
        taken = self._compare(page, progress)
        added = {} if self.order.dry_run else self._added(page, taken, progress)
        with transaction.atomic():
            staging.stage_problems(staged, page.problems)
            staging.drop_staged(staged, [at for name, at in ordinals.items() if name not in page.by_name])
            staging.replace_candidates(staged, ((ordinals[name], text) for name, text in added.items()))
            silent = [f"{sound.name} is silent; raters will hear nothing." for sound in taken.silent]
            silent = [note for note in silent if note not in staged.notes]  # told on an earlier page
            notes = [*silent, *mushra.loudness_notes(page.records, self.protocol, taken)]
            staged.notes = [*staged.notes, *notes][:MAX_NOTES]
            staged.n_judgments += sum(len(record.judgments) for record in page.records)
            staged.checked_to = max(tasks)
            staged.save()

    def _compare(self, page: CheckedPage, progress: Progress) -> clips.IngestedAudio:
        for record, fault in list(
            missing_audio_problems(self.study, self.order, self.protocol, page.records)
        ):
            page.drop(record, [fault])
        if (earlier := self._earlier) is not None:
            _compare_judgments(earlier, page)
        taken = self._sounds(progress).of(page.records)
        for record in page.records:
            if broken := [(name, sound) for name, sound in record.audio() if sound in taken.errors]:
                errors = ((name, sound, taken.errors[sound]) for name, sound in broken)
                page.drop(
                    record,
                    (
                        RowProblem(record.row, name, f"{sound.name}: {error.message}", error.remedy)
                        for name, sound, error in errors
                    ),
                )
        if earlier is not None:
            _compare_content(earlier, page, taken)
        for record in page.records:
            if found := list(mushra.trial_audio_problems(record, self.protocol, taken)):
                page.drop(record, found)
        return taken

    @cached_property
    def _earlier(self) -> Study | None:
        """The study, if something in it could be contradicted."""
        return self.study if self.study and self.study.items.exists() else None

    def _added(self, page: CheckedPage, taken: clips.IngestedAudio, progress: Progress) -> dict[str, str]:
        """Give new tasks what their protocol adds to them; those imported before have it. Their candidates by name."""
        if not self.protocol.added:
            return {}
        there = set(rows.candidates_of(self.study, list(page.by_name))) if self.study else set()
        new = [record for record in page.records if record.external_id not in there]
        sounds = self._sounds(progress)
        added: dict[str, str] = {}
        for some in batches(new, staging.AUDIO_BATCH):
            before = set(taken.clips)
            try:
                complete, problems = mushra.add_hidden_candidates(
                    some, self.protocol, taken, on_progress=sounds.on_progress
                )
            finally:
                sounds.keep(taken, taken.clips.keys() - before)
            for record in some:
                page.drop(record, [])
            page.by_name.update({record.external_id: record for record in complete})
            page.problems += problems
            added |= {record.external_id: encode_candidates(record.candidates) for record in complete}
        return added

    def _sounds(self, progress: Progress) -> StagedAudio:
        def on_progress(done: int, total: int) -> None:
            progress(done, total, stage="audio")

        return StagedAudio(
            self.staged, clips.inspect_clips if self.order.dry_run else clips.ingest_clips, on_progress
        )


def _compare_judgments(study: Study, page: CheckedPage) -> None:
    """What a rater said before must be what they said now."""
    for record, said in rows.changed_judgments(study, page.records):
        problem = f"what {said.rater or 'somebody unnamed'} said was imported before, and was something else"
        page.drop(record, [RowProblem(said.row, "answer", problem, ONLY_ADDS)])


def _compare_content(study: Study, page: CheckedPage, taken: clips.IngestedAudio) -> None:
    """Tasks and items imported before must be what they were: imports add, they never overwrite."""
    earlier = rows.candidates_of(study, list(page.by_name))
    for record in page.records:
        given = [
            (candidate.system, candidate.text, taken.hashes.get(candidate.audio) if candidate.audio else None)
            for candidate in record.candidates
        ]
        if earlier.get(record.external_id, given) != given:
            problem = f"{record.external_id!r} was imported before with other candidates"
            page.drop(record, [RowProblem(record.row, "id", problem, ONLY_ADDS)])
    known = _first_contents(study, {record.item.external_id: record.item for record in page.records})
    for record in page.records:
        before = known.get(record.item.external_id)
        if before is not None and before != content_sha256(record.item, taken.hashes):
            problem = f"{record.item.external_id!r} was imported before with other content"
            page.drop(record, [RowProblem(record.row, "item", problem, ONLY_ADDS)])


def _first_contents(study: Study, items: dict[str, ItemRecord]) -> dict[str, str]:
    versions = ItemVersion.objects.filter(item__study=study, number=1)
    known: dict[str, str] = {}
    for names in batches(list(items)):
        rows = versions.filter(item__external_id__any_of=names)
        known.update(rows.values_list("item__external_id", "content_sha256"))
    return known
