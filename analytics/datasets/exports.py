"""Exports: judgments, items, checks, corrections and review cases of a study in one format, with a manifest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from analytics.data.postgres import consistent_snapshot
from analytics.datasets.folder import (
    OnProgress,
    ProgressCounter,
    WrittenFile,
    complete_folder,
    write_lines,
    write_manifest,
)
from analytics.datasets.formats import EXPORT_FORMATS, RecordFormat, TableFormat, TaskFormat
from analytics.datasets.item_records import (
    TASK_FILTER,
    TEXT_VERSIONS,
    item_records,
    most_candidates,
    task_records,
)
from analytics.datasets.judgment_records import check_records, judgment_records
from analytics.datasets.manifest import EXPORT_FILTERS, TaskCounts, export_counts, export_manifest
from analytics.datasets.review_records import case_records, correction_records
from analytics.datasets.storage import JobArchives
from annotation.errors import InvalidInput
from annotation.jobs import jobs
from annotation.jobs.jobs import RunningJob
from annotation.models import Answer, Job, Judgment, Study, User
from annotation.protocols import Protocol
from annotation.studies import audit
from annotation.studies.protocols import load_protocol

PROGRESS_EVERY = 1000


def exporter(format: str) -> RecordFormat | TaskFormat | TableFormat:
    if format not in EXPORT_FORMATS:
        raise InvalidInput(
            f"{format!r} is not an export format; use {' or '.join(EXPORT_FORMATS)}.", code="bad_format"
        )
    return EXPORT_FORMATS[format]


def check_options(study: Study, *, format: str, texts: str) -> None:
    """Refuse what cannot be begun: no format or texts of ours, or trials that cannot be written in this format."""
    chosen = exporter(format)
    if isinstance(chosen, TaskFormat) and (reason := chosen.refused(_protocol(study))):
        raise InvalidInput(reason, code="bad_format")
    if texts not in TEXT_VERSIONS:
        raise InvalidInput(
            f"{texts!r} are not texts that can be asked for; use {', '.join(TEXT_VERSIONS)}.",
            code="bad_texts",
        )


def _protocol(study: Study) -> Protocol:
    return load_protocol(study.protocol_version_id).spec


def write_export(
    study: Study, *, format: str, out: Path, texts: str = "both", on_progress: OnProgress | None = None
) -> dict[str, Any]:
    """Fill the folder `out`, which must be empty or absent, and return the manifest.

    The folder appears complete or not at all. Equal data and equal code give equal bytes. `texts` names which versions
    of items are listed (TEXT_VERSIONS). `on_progress` gets how much is written so far, of `expected_progress`, inside
    the transaction that reads the snapshot.
    """
    check_options(study, format=format, texts=texts)
    with complete_folder(out) as folder, consistent_snapshot():
        manifest = _write_files(
            folder, Study.objects.get(pk=study.pk), format=format, texts=texts, on_progress=on_progress
        )
        write_manifest(folder, manifest)
    return manifest


def expected_progress(study: Study, format: str) -> int:
    """About how much `on_progress` will hear of: judgments, or rows where tables are written."""
    if isinstance(exporter(format), TableFormat):
        return expected_rows(study)
    return Judgment.objects.filter(study=study).count()


def expected_rows(study: Study) -> int:
    """Of the largest tables of a release; the others are small beside them."""
    answers = Answer.objects.filter(judgment__study=study).count()
    return 2 * Judgment.objects.filter(study=study).count() + answers


def _write_files(
    folder: Path, study: Study, *, format: str, texts: str, on_progress: OnProgress | None
) -> dict[str, Any]:
    """The files of an export, and their manifest."""
    chosen, filters = exporter(format), EXPORT_FILTERS
    progress = ProgressCounter(on_progress, PROGRESS_EVERY)
    if isinstance(chosen, TableFormat):
        from analytics.datasets import (
            table_files,  # pyarrow is slow to import, and only exports of tables need it
        )

        files = table_files.write_export_tables(study, folder, texts=texts, on_progress=on_progress)
        counts = export_counts(study, texts, as_tables=True)
    elif isinstance(chosen, RecordFormat):
        files = _write_lines(folder, _record_lines(study, chosen, texts=texts, progress=progress))
        counts = export_counts(study, texts, as_tables=False)
    else:
        tally = TaskCounts()
        tasks = progress.over(tally.count(task_records(study, texts=texts)))
        lines = chosen.files(_protocol(study), tasks, most_candidates(study, texts=texts))
        files, counts, filters = _write_lines(folder, lines), tally.as_json(), {"judgments": TASK_FILTER}
    files_json = {name: {"bytes": file.bytes, "sha256": file.sha256} for name, file in files.items()}
    return export_manifest(
        study, format=format, texts=texts, filters=filters, counts=counts, files=files_json
    )


def _record_lines(
    study: Study, chosen: RecordFormat, *, texts: str, progress: ProgressCounter
) -> dict[str, Iterator[str]]:
    """The lines of each file, by its name."""
    records = {
        "judgments": progress.over(judgment_records(study)),
        "items": item_records(study, texts=texts),
        "checks": check_records(study),
        "corrections": correction_records(study),
        "cases": case_records(study),
    }
    return {f"{name}.{chosen.extension}": chosen.lines[name](rows) for name, rows in records.items()}


def _write_lines(folder: Path, lines: Mapping[str, Iterable[str]]) -> dict[str, WrittenFile]:
    return {name: write_lines(folder / name, own) for name, own in lines.items()}


def write_audited_export(study: Study, *, format: str, texts: str, out: Path) -> dict[str, Any]:
    """As `write_export`, with a line in the audit log: for commands, which no account calls."""
    made = write_export(study, format=format, texts=texts, out=out)
    audit.record("export.written", actor=None, study=study, format=format, texts=texts, counts=made["counts"])
    return made


# Export jobs.

EXPORT_JOB = "export"
EXPORT_ARCHIVES = JobArchives(EXPORT_JOB, "exports", noun="export", verb="written")


def start_export(study: Study, *, format: str, texts: str = "both", actor: User) -> Job:
    check_options(study, format=format, texts=texts)
    return jobs.enqueue(EXPORT_JOB, study=study, params={"format": format, "texts": texts}, actor=actor)


def run_export(running: RunningJob) -> dict[str, Any]:
    """The job's work; what it returns is the job's report."""
    job, format = running.job, running.job.params["format"]
    assert job.study is not None
    study = job.study
    return EXPORT_ARCHIVES.write(
        running,
        stem=export_file_stem(job),
        total=expected_progress(study, format),
        write=lambda folder, progress: write_export(
            study, format=format, texts=_texts_of(job), out=folder, on_progress=progress
        ),
        reported=("counts",),
    )


def export_file_stem(job: Job) -> str:
    assert job.study is not None
    texts = _texts_of(job)
    return f"{job.study.slug}-{job.params['format']}{'' if texts == 'both' else f'-{texts}'}"


def _texts_of(job: Job) -> str:
    """Exports from before there was a choice list every version."""
    return str(job.params.get("texts", "both"))
