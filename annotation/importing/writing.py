"""The last stage of an import: staged rows are written into the study, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from django.db import connection, transaction
from django.db.models import F

from annotation import hooks
from annotation.bulk_queries import rows_in_batches
from annotation.importing import merging, staging
from annotation.importing import rows as importing_rows
from annotation.importing.options import ImportOptions
from annotation.importing.records import TaskRecord, decode_task
from annotation.importing.rows import ImportCounts, RowWriter
from annotation.jobs import jobs
from annotation.models import Job, Rater, StagedImport, Study, Task
from annotation.raters import withdrawal
from annotation.studies import audit, studies

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
        study = running.job.study or _new_study(running, options)
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


@dataclass
class _Writer:
    rows: RowWriter
    tally: importing_rows.JudgmentTally = field(default_factory=importing_rows.JudgmentTally)
    outdated: dict[str, list[int]] = field(default_factory=dict)
    first: int | None = None  # the first judgment that was added

    def write(self, records: Sequence[TaskRecord], staged: StagedImport) -> None:
        study, counts = self.rows.study, self.rows.counts
        tasks = self.rows.write(records, staging.staged_clips(staged, records))
        raters = _raters(study, records, counts)
        judgments = importing_rows.write_judgments(study, records, tasks, raters, self.tally)
        for reason, ids in importing_rows.outdated_judgments(judgments).items():
            self.outdated.setdefault(reason, []).extend(ids)
        counts.judgments += len(judgments)
        if self.first is None and judgments:
            self.first = min(judgment.pk for judgment in judgments)
        with connection.cursor() as cursor:
            # Keys are checked page by page: what waits for the end of a transaction waits in the server's memory.
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")

    def finished(self) -> ImportCounts:
        study, counts = self.rows.study, self.rows.counts
        self.tally.count(study)
        importing_rows.exclude_outdated(study, self.outdated)
        if self.first is not None:
            withdrawal.exclude_late_imports(study, self.tally.by_rater, since=self.first)
        Study.objects.filter(pk=study.pk).update(
            n_items=F("n_items") + counts.items, n_tasks=F("n_tasks") + self.rows.n_waiting
        )
        return counts


def _begin_writing(study: Study, options: ImportOptions, staged: StagedImport) -> _Writer:
    # One import of a study at a time: the second finds what the first has added. Not by the study's row: that comes
    # last in the order of locks.
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('import'), %s::int)", [study.pk])
        for statement in _LOCK_SQL.split(";"):
            cursor.execute(statement, {"study": study.pk, "job": staged.job})
    study.refresh_from_db()
    return _Writer(RowWriter(study, options.overlap or study.overlap, options.archive))


def _new_study(running: jobs.RunningJob, options: ImportOptions) -> Study:
    assert options.new_study is not None
    return studies.create_study(**asdict(options.new_study), actor=running.job.created_by)


def _raters(study: Study, records: Sequence[TaskRecord], counts: ImportCounts) -> dict[str, Rater]:
    names = {judgment.rater for record in records for judgment in record.judgments if judgment.rater}
    known = rows_in_batches(Rater.objects.filter(study=study), "external_id", sorted(names))
    existing = {rater.external_id: rater for rater in known}
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
    if options.archive and not Task.objects.filter(study=study, wants_more=True).exists():
        studies.set_study_state(study, Study.State.CLOSED, actor=actor)
    if counts.tasks:
        hooks.run_after_import(study, actor=actor)
    if job.study_id is None:
        Job.objects.filter(pk=job.pk).update(study=study)
