"""Bringing a source into a study, all or nothing, whatever its size.

Four stages, each of which a worker can go on with where another was killed: the source is read into a staging table,
fragments of tasks are joined there, each task is compared with what the study has and its sounds are taken in, and in
one transaction everything is written. docs/decisions/0012-streaming-imports.md says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from django.db import transaction

from annotation import protocols
from annotation.errors import DomainError, NotFound
from annotation.importing import options, rows, staging, writing
from annotation.importing.checking import ImportCheck
from annotation.importing.options import ImportOptions, NewStudy
from annotation.importing.records import RowProblem
from annotation.jobs import jobs
from annotation.models import Job, JobProblem, StagedImport, Study, User
from annotation.studies.protocols import load_protocol

# Whether a source's columns are still those of the import before it: a table that changed its shape is told
# of.


CHECK_COLUMN_MAP = "If that was not meant, mend the source or the map of its columns, and import it again."


def column_change_notes(study: Study | None, order: ImportOptions, columns: Mapping[str, str]) -> list[str]:
    """What has changed since this study was last imported into in this format."""
    if study is None or not columns:
        return []
    before = _last_columns(study, order.format)
    changes = list(_column_changes(before, columns)) if before else []
    said = "; ".join(changes)
    return [f"Since the last import of {order.format}: {said}. {CHECK_COLUMN_MAP}"] if changes else []


def _column_changes(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    if added := sorted(name for name in now if name not in before):
        yield f"new columns: {', '.join(added)}"
    if missing := sorted(name for name in before if name not in now):
        yield f"missing columns: {', '.join(missing)}"
    for name in sorted(before.keys() & now.keys()):
        was, is_ = before[name], now[name]
        if was and is_ and was != is_:
            yield f"{name} holds values of another type ({is_}, before {was})"


def _last_columns(study: Study, format: str) -> Mapping[str, str]:
    done = Job.objects.filter(
        study=study, kind="import", state=Job.State.DONE, params__format=format, report__has_key="columns"
    )
    report = done.order_by("-created_at").values_list("report", flat=True).first()
    return dict(report["columns"]) if report else {}


# A report is read by a person: what is wrong a thousand times is wrong in the same way. All are kept beside it.
MAX_PROBLEMS = 1000


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
    """Queue an import into a study, or into one that it creates. One at a time writes into a study: Conflict
    `import_under_way` while another is to; trials may run beside it."""
    order = ImportOptions(
        str(source.resolve()),
        format,
        dict(column_map or {}),
        overlap,
        archive,
        dry_run,
        skip_bad_rows,
        new_study,
    )
    options.check_options(study, order)
    with transaction.atomic():
        if study is not None and not dry_run:
            options.check_no_import_running(study)
        return jobs.enqueue("import", study=study, params=asdict(order), actor=actor)


def run(running: jobs.RunningJob) -> dict[str, Any]:
    """Do an import job. Raises jobs.Failure, with the problems found, when nothing was imported."""
    job, order = running.job, ImportOptions.from_params(running.job.params)
    staging.discard_finished_staging()
    staged = staging.open_staging(job, Path(order.source))
    try:
        report = _run_stages(running, order, staged)
    except (jobs.JobFailed, DomainError, jobs.Cancelled):
        staging.discard_staging(job.pk)
        raise
    except (jobs.LostLease, jobs.WorkerStopping):
        raise  # what is staged is whoever's comes next
    except Exception:
        if job.attempts >= jobs.MAX_ATTEMPTS:
            staging.discard_staging(job.pk)
        raise
    staging.discard_staging(job.pk, with_clips=False)
    return report


def run_dry(study: Study | None, order: ImportOptions, *, progress: staging.Progress) -> dict[str, Any]:
    """What an import of this order would do, with no trace: no job, nothing staged. Raises jobs.Failure."""
    with transaction.atomic():
        job = Job.objects.create(kind="import", study=study, params=asdict(replace(order, dry_run=True)))
        report = run(_DryRun(job, progress))
        transaction.set_rollback(True)
    return report


class _DryRun(jobs.RunningJob):
    def __init__(self, job: Job, show: staging.Progress) -> None:
        super().__init__(job)
        self._show = show

    def progress(self, done: int, total: int | None = None, *, stage: str = "") -> None:
        self._show(done, total, stage=stage)


def _run_stages(running: jobs.RunningJob, order: ImportOptions, staged: StagedImport) -> dict[str, Any]:
    study, protocol = running.job.study, _protocol_of(running.job.study, order)
    if not staged.read:
        staging.read_source(staged, order, protocol, running.progress)
    if not staged.joined:
        running.progress(0, stage="joining")
        staging.join_fragments(staged)
    if not staged.checked:
        ImportCheck(study, order, protocol, staged).run(running.progress)
    n_tasks = staging.count_staged(staged)
    _stop_at_problems(staged, order, n_tasks)
    report = _report(study, order, staged, n_tasks)
    if order.dry_run:
        return {**report, "dry_run": True}
    if staged.written is None:
        writing.write_staged(running, order, staged)
        rows.analyze_tables()
    return {**report, "created": staged.written}


def _protocol_of(study: Study | None, order: ImportOptions) -> protocols.Protocol:
    if study is not None:
        return load_protocol(study.protocol_version_id).spec
    assert order.new_study is not None
    return protocols.preset(order.new_study.preset)


def _stop_at_problems(staged: StagedImport, order: ImportOptions, n_tasks: int) -> None:
    if not staged.n_problems or (order.skip_bad_rows and n_tasks):
        return
    n = staged.n_problems
    raise jobs.JobFailed(
        f"{n} problem{'s' if n > 1 else ''} found; nothing was imported.",
        report={"problems": _first_problems(staged), "n_problems": n},
    )


def _report(study: Study | None, order: ImportOptions, staged: StagedImport, n_tasks: int) -> dict[str, Any]:
    columns = staging.source_columns(staged)
    return {
        "tasks": n_tasks,
        "judgments": staged.n_judgments,
        "problems": _first_problems(staged),
        "n_problems": staged.n_problems,
        "notes": [*column_change_notes(study, order, columns), *staged.notes],
        "columns": columns,
    }


def _first_problems(staged: StagedImport) -> list[dict[str, str]]:
    rows = JobProblem.objects.filter(job_id=staged.job).order_by("number")
    first = rows.values_list("row", "field", "problem", "remedy")[:MAX_PROBLEMS]
    return [asdict(RowProblem(*values)) for values in first]


# Doing what a trial import has tried, with the same file and options.


def start_from_dry_run(trial: Job, *, actor: User) -> Job:
    """Raises NotFound where the job is no trial, or one for a study that somebody else would make; InvalidInput where
    its file is not kept any more; Conflict where the study is written to, or where its address was taken since."""
    if trial.kind != "import" or not trial.params.get("dry_run"):
        raise NotFound
    if trial.study is None and trial.created_by_id != actor.pk:
        raise NotFound
    order = ImportOptions.from_params(trial.params)
    return start(
        trial.study,
        Path(order.source),
        format=order.format,
        actor=actor,
        column_map=order.column_map,
        overlap=order.overlap,
        archive=order.archive,
        skip_bad_rows=order.skip_bad_rows,
        new_study=order.new_study,
    )
