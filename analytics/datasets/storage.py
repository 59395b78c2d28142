"""A folder as one file to download."""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from django.core.files.base import File
from django.core.files.storage import default_storage

from annotation.errors import Conflict
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


# Exports and training sets that may hold what a rater said who has asked since to be taken out.


# Where a job's report says how many raters had withdrawn before it read anything.
WITHDRAWALS_KEY = "withdrawals"


def count_withdrawals(study: Study) -> int:
    """How many there are. They are only ever added to, so a number tells which; clocks and ids do not, for both are
    given out before others see the row."""
    return RaterWithdrawal.objects.filter(rater__study=study).count()


def refuse_superseded(job: Job) -> None:
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
