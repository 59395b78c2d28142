"""Archives: a folder as one zip file in the storage, refused once a rater in it has withdrawn."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from django.core.files.base import File
from django.core.files.storage import default_storage

from analytics.datasets.folder import OnProgress
from annotation.errors import Conflict, NotFound
from annotation.jobs.heartbeat import Heartbeat
from annotation.jobs.jobs import RunningJob
from annotation.models import Job, RaterWithdrawal, Study

# Equal folders make equal archives: every member carries this time, the earliest that a zip file can hold.
_TIME = (1980, 1, 1, 0, 0, 0)
_COMPRESSED_SUFFIXES = {".parquet", ".flac", ".mp3", ".ogg", ".opus", ".m4a"}


def zip_folder(folder: Path, target: Path) -> None:
    """Zip the files of `folder` and of those in it into `target`, by name, under the name of the folder."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            name = path.relative_to(folder).as_posix()
            member = zipfile.ZipInfo(f"{folder.name}/{name}", _TIME)
            # What is packed already gains nothing from being packed again, and takes long.
            member.compress_type = (
                zipfile.ZIP_STORED if path.suffix in _COMPRESSED_SUFFIXES else zipfile.ZIP_DEFLATED
            )
            member.external_attr = 0o644 << 16
            with path.open("rb") as source, archive.open(member, "w", force_zip64=True) as part:
                shutil.copyfileobj(source, part)


def unzip_folder(archive: IO[bytes], folder: Path, *, wanted: Callable[[str], bool]) -> None:
    """What `pack` made, under the name that it had: the members whose path in their folder is `wanted`. For our own
    archives only: nothing in it is doubted."""
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(folder, [name for name in packed.namelist() if wanted(name.partition("/")[2])])


def store_archive(archive: Path, name: str) -> dict[str, Any]:
    """Keep an archive in the storage under this very name: its `bytes` and `sha256`. A worker that died after it had
    stored one leaves the file of an earlier attempt, which goes."""
    default_storage.delete(name)
    with archive.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
        default_storage.save(name, File(file))
    return {"bytes": archive.stat().st_size, "sha256": digest}


# Archives of jobs: exports and training sets.


@dataclass(frozen=True)
class JobArchives:
    """The archives of one kind of job, in a folder of the storage. `noun` and `verb` stand in its sentences."""

    kind: str
    folder: str
    noun: str
    verb: str

    def path(self, job: Job) -> str:
        return f"{self.folder}/{job.pk}.zip"

    def write(
        self,
        running: RunningJob,
        *,
        stem: str,
        total: int,
        write: Callable[[Path, OnProgress], dict[str, Any]],
        reported: Collection[str],
    ) -> dict[str, Any]:
        """Let `write` fill a folder called `stem`, under a heartbeat, and store its archive. The job's report: the
        archive's `bytes` and `sha256`, and what is `reported` of the manifest that `write` returned.

        Started over, it stores the same file again."""
        assert running.job.study is not None
        # Counted first: who withdraws while it is written may be in it.
        honoured = count_withdrawals(running.job.study)
        with tempfile.TemporaryDirectory() as scratch:
            folder, archive = Path(scratch) / stem, Path(scratch) / "archive"
            with Heartbeat(running, total=total) as progress:
                manifest = write(folder, progress)
                zip_folder(folder, archive)
            stored = store_archive(archive, self.path(running.job))
        return {**stored, **{name: manifest[name] for name in reported}, WITHDRAWALS_KEY: honoured}

    def stored(self, job: Job) -> str:
        """The name of the finished archive in storage.

        Raises Conflict with a sentence while there is none, or where a rater has withdrawn since; NotFound for other
        kinds of job.
        """
        if job.kind != self.kind:
            raise NotFound
        if not job.is_finished:
            raise Conflict(
                f"This {self.noun} is still being {self.verb}; try again in a moment.", code="not_ready"
            )
        if job.state != Job.State.DONE or not default_storage.exists(self.path(job)):
            raise Conflict(
                f"This {self.noun} has no file, or has it no longer. Start a new one.", code="no_file"
            )
        _refuse_superseded(job)
        return self.path(job)


# Where a job's report says how many raters had withdrawn before it read anything.
WITHDRAWALS_KEY = "withdrawals"


def count_withdrawals(study: Study) -> int:
    """How many there are. They are only ever added to, so a number tells which; clocks and ids do not, for both are
    given out before others see the row."""
    return RaterWithdrawal.objects.filter(rater__study=study).count()


def _refuse_superseded(job: Job) -> None:
    """Raises Conflict where a rater has withdrawn from its study since the job began to read it."""
    assert job.study is not None
    if WITHDRAWALS_KEY in job.report:
        later = count_withdrawals(job.study) != job.report[WITHDRAWALS_KEY]
    else:  # a report from before there was such a number
        begun = job.started_at or job.created_at
        later = RaterWithdrawal.objects.filter(rater__study=job.study_id, withdrawn_at__gte=begun).exists()
    if later:
        raise Conflict(
            "A rater has withdrawn from this study since; this file may hold what they said. Start a new one.",
            code="superseded",
        )
