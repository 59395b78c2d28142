"""Bringing small tables in, and counting what that left."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from django.apps import apps
from django.db.models import Sum

from annotation.importing import import_jobs, merging
from annotation.importing.records import Note, RowProblem, TaskRecord
from annotation.jobs import jobs
from annotation.models import Job, Judgment, Study

COMPLETE = {"item_id": "i1", "question_text": "Q?", "reference": "R", "system": "s1", "answer": "Yes"}
COLUMNS = (*COMPLETE, "audio", "rater_id", "question", "value", "codes")


class Killed(BaseException):
    """Nothing of the process is left to tidy up."""


def killed(*_args) -> None:
    raise Killed


def kill_in(job: Job, owner: object, name: str, deadly: Callable[..., object]) -> None:
    """Run the job, and kill its worker where it comes to this."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(owner, name, deadly)
        with pytest.raises(Killed):
            jobs.run(job.pk)


def take_over(job: Job) -> None:
    """Whoever finds the job without its worker runs it to the end."""
    Job.objects.filter(pk=job.pk).update(lease_expires_at="2020-01-01T00:00Z")
    assert jobs.run(job.pk)
    job.refresh_from_db()


def write(path: Path, *rows: dict) -> Path:
    """A table of answers, each row complete unless the test changes it."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows({**COMPLETE, **row} for row in rows)
    return path


def bring(study: Study | None, source: Path, **options) -> Job:
    job = import_jobs.start(study, source, format=options.pop("format", "csv"), actor=None, **options)
    jobs.run_inline(job)
    return job


def counted() -> dict[str, int]:
    """Rows of every table of the product but the record of jobs and events, and files in the media folder."""
    recorded = ("Job", "JobProblem", "AuditEvent")
    return {name: n for name, n in counted_with_records().items() if name not in recorded}


def counted_with_records() -> dict[str, int]:
    apps_of_ours = (apps.get_app_config(name) for name in ("annotation", "scoring", "analytics"))
    return {model.__name__: model.objects.count() for app in apps_of_ours for model in app.get_models()}


def problems(job: Job) -> list[tuple[str, str]]:
    """Row and field of each problem in the report."""
    return [(problem["row"], problem["field"]) for problem in job.report["problems"]]


def files(settings) -> list[Path]:
    return [path for path in Path(settings.MEDIA_ROOT).rglob("*") if path.is_file()]


def check_counters(study: Study) -> None:
    """Every maintained counter equals its rows, counted one by one."""
    study.refresh_from_db()
    valid = Judgment.objects.filter(study=study, effective=True, excluded=False)
    named = study.raters.aggregate(n=Sum("n_judgments"), filled=Sum("n_tasks_filled"))
    full = sum(task.n_judgments >= task.overlap for task in study.tasks.all())
    assert (study.n_items, study.n_tasks) == (study.items.count(), study.tasks.count())
    assert study.n_unnamed_judgments + (named["n"] or 0) == valid.count()
    assert study.n_unnamed_tasks_filled + (named["filled"] or 0) == full
    for task in study.tasks.all():
        assert task.n_judgments == valid.filter(task=task).count()


def merge_fragments(
    entries: Iterable[TaskRecord | RowProblem | Note],
) -> Iterator[TaskRecord | RowProblem | Note]:
    """Whole tasks of fragments, in memory: for sources that are small."""
    tasks: dict[str, TaskRecord] = {}
    for entry in entries:
        if not isinstance(entry, TaskRecord):
            yield entry
        elif (first := tasks.setdefault(entry.external_id, entry)) is entry:
            continue
        elif problem := merging.find_contradiction(first, entry):
            yield problem
        else:
            first.judgments += entry.judgments
    for task in tasks.values():
        yield from merging.merge_judgments(task)
    yield from tasks.values()
