"""Writing a study out: judgments, items, listening checks, corrections and review cases, in one of the formats, with a
manifest of them."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from django.core.files.storage import default_storage

from analytics.data.postgres import consistent_snapshot
from analytics.datasets import item_records as datasets_item_records
from analytics.datasets.formats import EXPORT_FORMATS, RecordFormat, TableFormat, TaskFormat
from analytics.datasets.item_records import TEXT_VERSIONS, item_records
from analytics.datasets.judgment_records import check_records, judgment_records
from analytics.datasets.manifest import RecordCounts, export_manifest
from analytics.datasets.review_records import case_records, correction_records
from analytics.datasets.storage import (
    WITHDRAWALS_KEY,
    count_withdrawals,
    refuse_superseded,
    store_archive,
    zip_folder,
)
from annotation.errors import Conflict, InvalidInput, NotFound
from annotation.jobs import jobs
from annotation.jobs.heartbeat import Heartbeat
from annotation.jobs.jobs import RunningJob
from annotation.models import Answer, Job, Judgment, Study, User
from annotation.protocols import Protocol
from annotation.studies import audit
from annotation.studies.protocols import load_protocol

OnProgress = Callable[[int], None]

MANIFEST = "manifest.json"
PROGRESS_EVERY = 1000


def exporter(format: str) -> RecordFormat | TaskFormat | TableFormat:
    if format not in EXPORT_FORMATS:
        raise InvalidInput(
            f"{format!r} is not an export format; use {' or '.join(EXPORT_FORMATS)}.", code="bad_format"
        )
    return EXPORT_FORMATS[format]


def check_format(study: Study, format: str) -> None:
    """Refuse what cannot be begun: no format of ours, or none that this study's trials can be written in."""
    chosen = exporter(format)
    if isinstance(chosen, TaskFormat) and (reason := chosen.refused(_protocol(study))):
        raise InvalidInput(reason, code="bad_format")


def _protocol(study: Study) -> Protocol:
    return load_protocol(study.protocol_version_id).spec


def check_texts(texts: str) -> None:
    if texts not in TEXT_VERSIONS:
        raise InvalidInput(
            f"{texts!r} are not texts that can be asked for; use {', '.join(TEXT_VERSIONS)}.",
            code="bad_texts",
        )


def write_export(
    study: Study, *, format: str, out: Path, texts: str = "both", on_progress: OnProgress | None = None
) -> dict[str, Any]:
    """Fill the folder `out`, which must be empty or absent, and return the manifest.

    The folder appears complete or not at all. Equal data and equal code give equal bytes. `texts` names
    which versions of items are listed, by `records.items.TEXTS`. `on_progress` hears how much is written so far, of
    `expected`; it is called inside the transaction that keeps the export of one moment.
    """
    check_format(study, format)
    chosen = exporter(format)
    check_texts(texts)
    _check_out_is_empty(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = out.parent / f".{out.name}.{uuid.uuid4().hex}"
    partial.mkdir()
    try:
        made = _fill(partial, study, format=format, texts=texts, chosen=chosen, on_progress=on_progress)
        partial.rename(out)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return made


def expected_progress(study: Study, format: str) -> int:
    """About how much `on_progress` will hear of: judgments, or rows where tables are written."""
    if isinstance(exporter(format), TableFormat):
        return expected_rows(study)
    return Judgment.objects.filter(study=study).count()


def expected_rows(study: Study) -> int:
    """Of the largest tables of a release; the others are small beside them."""
    answers = Answer.objects.filter(judgment__study=study).count()
    return 2 * Judgment.objects.filter(study=study).count() + answers


def _check_out_is_empty(out: Path) -> None:
    if out.is_dir() and not any(out.iterdir()):
        return
    if out.exists():
        raise InvalidInput(
            f"{out} is there already and not an empty folder; name one that is empty or not there yet.",
            code="not_empty",
        )


def _fill(
    folder: Path,
    study: Study,
    *,
    format: str,
    texts: str,
    chosen: RecordFormat | TaskFormat | TableFormat,
    on_progress: OnProgress | None,
) -> dict[str, Any]:
    tally = RecordCounts(texts)
    with consistent_snapshot():
        study = Study.objects.get(pk=study.pk)
        if isinstance(chosen, TableFormat):
            from analytics.datasets import table_files  # pyarrow is no business of processes that only ask

            files = table_files.write_export_tables(
                study, folder, texts=texts, tally=tally, on_progress=on_progress
            )
        else:
            parts = _export_files(study, chosen, texts=texts, tally=tally, on_progress=on_progress)
            files = {name: _write_lines(folder / name, lines) for name, lines in parts.items()}
        made = export_manifest(study, format=format, texts=texts, tally=tally, files=files)
        if isinstance(chosen, TaskFormat):
            made["filters"] = {
                "judgments": datasets_item_records.TASK_FILTER,
                "items": made["filters"]["items"],
            }
    text = json.dumps(made, ensure_ascii=False, indent=2) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")
    return made


def _export_files(
    study: Study,
    chosen: RecordFormat | TaskFormat,
    *,
    texts: str,
    tally: RecordCounts,
    on_progress: OnProgress | None,
) -> Mapping[str, Iterator[str]]:
    """The lines of each file, by its name."""
    if isinstance(chosen, TaskFormat):
        return _task_files(study, chosen, texts=texts, tally=tally, on_progress=on_progress)
    return _record_files(study, chosen, texts=texts, tally=tally, on_progress=on_progress)


def _record_files(
    study: Study, chosen: RecordFormat, *, texts: str, tally: RecordCounts, on_progress: OnProgress | None
) -> dict[str, Iterator[str]]:
    judgments = _reported(tally.judgments(judgment_records(study)), on_progress)
    parts = {
        "judgments": chosen.judgments(judgments),
        "items": chosen.items(tally.items(item_records(study, texts=texts))),
        "checks": chosen.checks(tally.checks(check_records(study))),
        "corrections": chosen.corrections(tally.corrections(correction_records(study))),
        "cases": chosen.cases(tally.cases(case_records(study))),
    }
    return {f"{name}.{chosen.extension}": lines for name, lines in parts.items()}


def _task_files(
    study: Study, chosen: TaskFormat, *, texts: str, tally: RecordCounts, on_progress: OnProgress | None
) -> Mapping[str, Iterator[str]]:
    tasks = _reported(tally.tasks(datasets_item_records.task_records(study, texts=texts)), on_progress)
    return chosen.files(
        _protocol(study), tasks, n_candidates=datasets_item_records.most_candidates(study, texts=texts)
    )


def _reported(records: Iterable[dict[str, Any]], on_progress: OnProgress | None) -> Iterator[dict[str, Any]]:
    for number, record in enumerate(records, start=1):
        if on_progress is not None and number % PROGRESS_EVERY == 0:
            on_progress(number)
        yield record


def _write_lines(path: Path, lines: Iterable[str]) -> dict[str, Any]:
    digest, size = hashlib.sha256(), 0
    with path.open("wb") as file:
        for line in lines:
            data = line.encode()
            file.write(data)
            digest.update(data)
            size += len(data)
    return {"bytes": size, "sha256": digest.hexdigest()}


def write_audited_export(study: Study, *, format: str, texts: str, out: Path) -> dict[str, Any]:
    """As `exports.write`."""
    made = write_export(study, format=format, texts=texts, out=out)
    audit.record("export.written", actor=None, study=study, format=format, texts=texts, counts=made["counts"])
    return made


# Exports that a researcher asks for in the browser: made in the background, kept in the media folder.


EXPORT_JOB = "export"


def start_export(study: Study, *, format: str, texts: str = "both", actor: User) -> Job:
    check_format(study, format)
    check_texts(texts)
    return jobs.enqueue(EXPORT_JOB, study=study, params={"format": format, "texts": texts}, actor=actor)


def run_export(running: RunningJob) -> dict[str, Any]:
    """The job's work; what it returns is the job's report. Started over, it writes the same file again."""
    job = running.job
    assert job.study is not None
    honoured = count_withdrawals(job.study)  # counted first: who withdraws while it is written may be in it
    total = expected_progress(job.study, job.params["format"])
    with tempfile.TemporaryDirectory() as scratch:
        folder, archive = Path(scratch) / export_file_stem(job), Path(scratch) / "archive"
        with Heartbeat(running, total=total) as progress:
            asked = {"format": job.params["format"], "texts": texts_of(job)}
            manifest = write_export(job.study, **asked, out=folder, on_progress=progress)
            zip_folder(folder, archive)
        return {
            **store_archive(archive, _export_path(job)),
            "counts": manifest["counts"],
            WITHDRAWALS_KEY: honoured,
        }


def export_file_stem(job: Job) -> str:
    assert job.study is not None
    texts = texts_of(job)
    return f"{job.study.slug}-{job.params['format']}{'' if texts == 'both' else f'-{texts}'}"


def texts_of(job: Job) -> str:
    """Exports from before there was a choice list every version."""
    return str(job.params.get("texts", "both"))


def stored_export(job: Job) -> str:
    """The name of the finished archive in storage.

    Raises Conflict with a sentence while there is none, or where a rater has withdrawn since; NotFound for other kinds
    of job.
    """
    if job.kind != EXPORT_JOB:
        raise NotFound
    if not job.is_finished:
        raise Conflict("This export is still being written; try again in a moment.", code="not_ready")
    if job.state != Job.State.DONE or not default_storage.exists(_export_path(job)):
        raise Conflict("This export has no file, or has it no longer. Start a new one.", code="no_file")
    refuse_superseded(job)
    return _export_path(job)


def _export_path(job: Job) -> str:
    return f"exports/{job.pk}.zip"
