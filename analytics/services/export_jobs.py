"""Exports that a researcher asks for in the browser: made in the background, kept in the media folder."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from django.core.files.storage import default_storage

from analytics.services import exports
from analytics.services.archive import pack, store
from analytics.services.heartbeat import Heartbeat
from analytics.services.superseded_files import HONOURED, refuse_superseded, withdrawals
from annotation.errors import Conflict, NotFound
from annotation.models import Job, Study, User
from annotation.services import jobs
from annotation.services.jobs import Running

KIND = "export"


def start(study: Study, *, format: str, texts: str = "both", actor: User) -> Job:
    exports.check_format(study, format)
    exports.check_texts(texts)
    return jobs.enqueue(KIND, study=study, params={"format": format, "texts": texts}, actor=actor)


def run(running: Running) -> dict[str, Any]:
    """The job's work; what it returns is the job's report. Started over, it writes the same file again."""
    job = running.job
    assert job.study is not None
    honoured = withdrawals(job.study)  # counted first: who withdraws while it is written may be in it
    total = exports.expected(job.study, job.params["format"])
    with tempfile.TemporaryDirectory() as scratch:
        folder, archive = Path(scratch) / file_stem(job), Path(scratch) / "archive"
        with Heartbeat(running, total=total) as progress:
            asked = {"format": job.params["format"], "texts": texts_of(job)}
            manifest = exports.write(job.study, **asked, out=folder, on_progress=progress)
            pack(folder, archive)
        return {**store(archive, _stored(job)), "counts": manifest["counts"], HONOURED: honoured}


def file_stem(job: Job) -> str:
    assert job.study is not None
    texts = texts_of(job)
    return f"{job.study.slug}-{job.params['format']}{'' if texts == 'both' else f'-{texts}'}"


def texts_of(job: Job) -> str:
    """Exports from before there was a choice list every version."""
    return str(job.params.get("texts", "both"))


def kept(job: Job) -> str:
    """The name of the finished archive in storage.

    Raises Conflict with a sentence while there is none, or where a rater has withdrawn since; NotFound for other kinds
    of job.
    """
    if job.kind != KIND:
        raise NotFound
    if not job.is_finished:
        raise Conflict("This export is still being written; try again in a moment.", code="not_ready")
    if job.state != Job.State.DONE or not default_storage.exists(_stored(job)):
        raise Conflict("This export has no file, or has it no longer. Start a new one.", code="no_file")
    refuse_superseded(job)
    return _stored(job)


def _stored(job: Job) -> str:
    return f"exports/{job.pk}.zip"
