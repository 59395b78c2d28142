"""The third stage of an import: each task, page by page, is compared with what the study has, and its sounds taken in.

A page's effects are one transaction with the note that it is done: a worker that takes over goes on with the next.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from django.db import transaction

from annotation import protocols
from annotation.importers import merging
from annotation.importers.records import ItemRecord, RowProblem, TaskRecord, content_sha256
from annotation.importers.staged_json import StagedJson, decoded, encoded_candidates
from annotation.models import ItemVersion, StagedImport, Study
from annotation.services import (
    clips,
    import_judgments,
    import_rows,
    import_soundless,
    import_sounds,
    import_staging,
    import_strata,
    import_trials,
)
from annotation.services.import_batches import batches
from annotation.services.import_orders import Order
from annotation.services.import_reading import MAX_NOTES, Progress
from annotation.services.import_sounds import Sounds

PAGE = 2000
ONLY_ADDS = "Corrections are made in the product, as a new version; import changed material under a new id."


@dataclass
class Page:
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
class Check:
    """What the tasks of an import are held against."""

    study: Study | None
    order: Order
    protocol: protocols.Protocol
    staged: StagedImport

    def run(self, progress: Progress) -> None:
        """Hold every task that is staged against it, from where a worker before came to."""
        staged, total = self.staged, import_staging.count(self.staged)
        done = 0
        for ordinals, tasks in import_staging.pages(staged, size=PAGE, after=staged.checked_to):
            self._page(dict(zip(ordinals, tasks, strict=True)), progress)
            done += len(tasks)
            progress(done, total, stage="checking")
        if (earlier := self._earlier) is not None:
            staged.notes = [*import_strata.notes(earlier, staged), *staged.notes][:MAX_NOTES]
        staged.checked = True
        staged.save()

    def _page(self, tasks: dict[int, StagedJson], progress: Progress) -> None:
        staged = self.staged
        ordinals = {task.task_name: ordinal for ordinal, task in tasks.items()}
        page = Page({task.task_name: decoded(task) for task in tasks.values()})
        for record in page.records:
            page.problems += merging.settle(record)
        taken = self._compare(page, progress)
        added = {} if self.order.dry_run else self._added(page, taken, progress)
        with transaction.atomic():
            import_staging.tell(staged, page.problems)
            import_staging.drop(staged, [at for name, at in ordinals.items() if name not in page.by_name])
            import_staging.put_candidates(staged, ((ordinals[name], text) for name, text in added.items()))
            silent = [f"{sound.name} is silent; raters will hear nothing." for sound in taken.silent]
            silent = [note for note in silent if note not in staged.notes]  # told on an earlier page
            notes = [*silent, *import_trials.notes(page.records, self.protocol, taken)]
            staged.notes = [*staged.notes, *notes][:MAX_NOTES]
            staged.n_judgments += sum(len(record.judgments) for record in page.records)
            staged.checked_to = max(tasks)
            staged.save()

    def _compare(self, page: Page, progress: Progress) -> clips.Taken:
        for record, fault in list(
            import_soundless.faults(self.study, self.order, self.protocol, page.records)
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
            if found := list(import_trials.faults_of_sound(record, self.protocol, taken)):
                page.drop(record, found)
        return taken

    @cached_property
    def _earlier(self) -> Study | None:
        """The study, if something in it could be contradicted."""
        return self.study if self.study and self.study.items.exists() else None

    def _added(self, page: Page, taken: clips.Taken, progress: Progress) -> dict[str, str]:
        """Give new tasks what their protocol adds to them; those imported before have it. Their candidates by name."""
        if not self.protocol.added:
            return {}
        there = set(import_rows.candidates_of(self.study, list(page.by_name))) if self.study else set()
        new = [record for record in page.records if record.external_id not in there]
        sounds = self._sounds(progress)
        added: dict[str, str] = {}
        for some in batches(new, import_sounds.TOGETHER):
            before = set(taken.clips)
            try:
                complete, problems = import_trials.with_added(
                    some, self.protocol, taken, on_progress=sounds.on_progress
                )
            finally:
                sounds.keep(taken, taken.clips.keys() - before)
            for record in some:
                page.drop(record, [])
            page.by_name.update({record.external_id: record for record in complete})
            page.problems += problems
            added |= {record.external_id: encoded_candidates(record.candidates) for record in complete}
        return added

    def _sounds(self, progress: Progress) -> Sounds:
        def on_progress(done: int, total: int) -> None:
            progress(done, total, stage="audio")

        return Sounds(self.staged, clips.look_at if self.order.dry_run else clips.take_in, on_progress)


def _compare_judgments(study: Study, page: Page) -> None:
    """What a rater said before must be what they said now."""
    for record, said in import_judgments.changed(study, page.records):
        problem = f"what {said.rater or 'somebody unnamed'} said was imported before, and was something else"
        page.drop(record, [RowProblem(said.row, "answer", problem, ONLY_ADDS)])


def _compare_content(study: Study, page: Page, taken: clips.Taken) -> None:
    """Tasks and items imported before must be what they were: imports add, they never overwrite."""
    earlier = import_rows.candidates_of(study, list(page.by_name))
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
