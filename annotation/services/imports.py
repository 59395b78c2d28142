"""Bringing a source into a study, all or nothing, whatever its size.

Four stages, each of which a worker can go on with where another was killed: the source is read into a staging table,
fragments of tasks are joined there, each task is compared with what the study has and its sounds are taken in, and in
one transaction everything is written. docs/decisions/0012-streaming-imports.md says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from django.db import transaction

from annotation import protocols
from annotation.errors import DomainError
from annotation.importers.records import RowProblem
from annotation.models import Job, JobProblem, StagedImport, Study, User
from annotation.services import (
    import_columns,
    import_joining,
    import_orders,
    import_reading,
    import_rows,
    import_staging,
    import_writing,
    jobs,
)
from annotation.services.import_checks import Check
from annotation.services.import_orders import NewStudy, Order
from annotation.services.protocols import loaded

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
    with transaction.atomic():
        if study is not None and not dry_run:
            import_orders.check_alone(study)
        return jobs.enqueue("import", study=study, params=asdict(order), actor=actor)


def run(running: jobs.Running) -> dict[str, Any]:
    """Do an import job. Raises jobs.Failure, with the problems found, when nothing was imported."""
    job, order = running.job, Order.from_params(running.job.params)
    import_staging.discard_finished()
    staged = import_staging.opened(job, Path(order.source))
    try:
        report = _import(running, order, staged)
    except (jobs.Failure, DomainError, jobs.Cancelled):
        import_staging.discard(job.pk)
        raise
    except (jobs.LostLease, jobs.PutDown):
        raise  # what is staged is whoever's comes next
    except Exception:
        if job.attempts >= jobs.MAX_ATTEMPTS:
            import_staging.discard(job.pk)
        raise
    import_staging.discard(job.pk, with_clips=False)
    return report


def rehearse(study: Study | None, order: Order, *, progress: import_reading.Progress) -> dict[str, Any]:
    """What an import of this order would do, with no trace: no job, nothing staged. Raises jobs.Failure."""
    with transaction.atomic():
        job = Job.objects.create(kind="import", study=study, params=asdict(replace(order, dry_run=True)))
        report = run(_Rehearsal(job, progress))
        transaction.set_rollback(True)
    return report


class _Rehearsal(jobs.Running):
    def __init__(self, job: Job, show: import_reading.Progress) -> None:
        super().__init__(job)
        self._show = show

    def progress(self, done: int, total: int | None = None, *, stage: str = "") -> None:
        self._show(done, total, stage=stage)


def _import(running: jobs.Running, order: Order, staged: StagedImport) -> dict[str, Any]:
    study, protocol = running.job.study, _protocol(running.job.study, order)
    if not staged.read:
        import_reading.read(staged, order, protocol, running.progress)
    if not staged.joined:
        running.progress(0, stage="joining")
        import_joining.join(staged)
    if not staged.checked:
        Check(study, order, protocol, staged).run(running.progress)
    n_tasks = import_staging.count(staged)
    _stop_at_problems(staged, order, n_tasks)
    report = _report(study, order, staged, n_tasks)
    if order.dry_run:
        return {**report, "dry_run": True}
    if staged.written is None:
        import_writing.write(running, order, staged)
        import_rows.analyze()
    return {**report, "created": staged.written}


def _protocol(study: Study | None, order: Order) -> protocols.Protocol:
    if study is not None:
        return loaded(study.protocol_version_id).spec
    assert order.new_study is not None
    return protocols.preset(order.new_study.preset)


def _stop_at_problems(staged: StagedImport, order: Order, n_tasks: int) -> None:
    if not staged.n_problems or (order.skip_bad_rows and n_tasks):
        return
    n = staged.n_problems
    raise jobs.Failure(
        f"{n} problem{'s' if n > 1 else ''} found; nothing was imported.",
        report={"problems": _first_problems(staged), "n_problems": n},
    )


def _report(study: Study | None, order: Order, staged: StagedImport, n_tasks: int) -> dict[str, Any]:
    columns = import_reading.columns(staged)
    return {
        "tasks": n_tasks,
        "judgments": staged.n_judgments,
        "problems": _first_problems(staged),
        "n_problems": staged.n_problems,
        "notes": [*import_columns.notes(study, order, columns), *staged.notes],
        "columns": columns,
    }


def _first_problems(staged: StagedImport) -> list[dict[str, str]]:
    rows = JobProblem.objects.filter(job_id=staged.job).order_by("number")
    first = rows.values_list("row", "field", "problem", "remedy")[:MAX_PROBLEMS]
    return [asdict(RowProblem(*values)) for values in first]
