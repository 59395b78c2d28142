"""Training sets that a researcher asks for: made in the background, kept where other files are."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from django.core.files.storage import default_storage

from analytics.records import judged_tasks
from analytics.services import training_sets
from analytics.services.archive import pack, store
from analytics.services.heartbeat import Heartbeat
from analytics.services.superseded_files import HONOURED, refuse_superseded, withdrawals
from analytics.training_sets.options import Options
from annotation.errors import Conflict, NotFound
from annotation.models import Job, Study, User
from annotation.services import jobs
from annotation.services.jobs import Running

KIND = "training_set"


def start(study: Study, options: Options, *, actor: User) -> Job:
    """Raises InvalidInput at once for what can be told without reading the votes."""
    training_sets.order(study, options)
    return jobs.enqueue(KIND, study=study, params=options.as_json(), actor=actor)


def run(running: Running) -> dict[str, Any]:
    """The job's work; what it returns is the job's report. Started over, it writes the same file again."""
    job = running.job
    assert job.study is not None
    options = Options.of(job.params)
    honoured = withdrawals(job.study)  # counted first: who withdraws while it is made may be in it
    total = 2 * judged_tasks.count(job.study, training_sets.order(job.study, options).wanted)
    with tempfile.TemporaryDirectory() as scratch:
        folder, archive = Path(scratch) / file_stem(job), Path(scratch) / "archive"
        with Heartbeat(running, total=total) as progress:
            manifest = training_sets.write(job.study, options, out=folder, on_progress=progress)
            pack(folder, archive)
        told = {name: manifest[name] for name in ("counts", "left_out", "leakage", "groups", "votes")}
        return {**store(archive, _stored(job)), **told, HONOURED: honoured}


def file_stem(job: Job) -> str:
    assert job.study is not None
    return f"{job.study.slug}-{job.params['format']}"


def kept(job: Job) -> str:
    """The name of the finished archive in storage.

    Raises Conflict with a sentence while there is none, or where a rater has withdrawn since; NotFound for other kinds
    of job.
    """
    if job.kind != KIND:
        raise NotFound
    if not job.is_finished:
        raise Conflict("This training set is still being made; try again in a moment.", code="not_ready")
    if job.state != Job.State.DONE or not default_storage.exists(_stored(job)):
        raise Conflict("This training set has no file, or has it no longer. Start a new one.", code="no_file")
    refuse_superseded(job)
    return _stored(job)


def _stored(job: Job) -> str:
    return f"training-sets/{job.pk}.zip"
