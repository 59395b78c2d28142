"""Dataset folders, complete or not at all, with hashed files and verified copies of clips; and their archives: a folder
as one zip file in the storage, refused once a rater in it has withdrawn."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import uuid
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

from django.core.files.base import File
from django.core.files.storage import default_storage

from annotation.errors import Conflict, InvalidInput, NotFound
from annotation.jobs.heartbeat import Heartbeat
from annotation.jobs.jobs import RunningJob
from annotation.models import Job, RaterWithdrawal, Study

MANIFEST_NAME = "manifest.json"
_CHUNK = 1 << 20
T = TypeVar("T")
# Hears how much is done so far.
OnProgress = Callable[[int], None]


@dataclass(frozen=True)
class WrittenFile:
    """The size and SHA-256 of a written file, and how many rows it has (None where it has none)."""

    bytes: int
    sha256: str
    rows: int | None = None

    def as_json(self) -> dict[str, Any]:
        return {"bytes": self.bytes, "sha256": self.sha256} | (
            {} if self.rows is None else {"rows": self.rows}
        )


class DamagedClipError(Exception):
    """A stored clip cannot be read (`cause`), or its bytes differ from its hash."""

    def __init__(self, cause: OSError | None = None) -> None:
        super().__init__(str(cause or "another hash"))
        self.cause = cause


@dataclass
class ProgressCounter:
    """Adds up what is done, and tells `on_progress` the sum whenever it is a multiple of `every`."""

    on_progress: OnProgress | None
    every: int = 1
    done: int = 0

    def add(self, n: int) -> None:
        self.done += n
        if self.on_progress is not None and self.done % self.every == 0:
            self.on_progress(self.done)

    def over(self, rows: Iterable[T]) -> Iterator[T]:
        for row in rows:
            self.add(1)
            yield row


@contextmanager
def complete_folder(out: Path) -> Iterator[Path]:
    """A hidden folder that becomes `out` at the end of the block; an error leaves nothing behind.

    Raises InvalidInput `not_empty` where `out` is there already and is no empty folder.
    """
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise InvalidInput(
            f"{out} is there already and not an empty folder; name one that is empty or not there yet.",
            code="not_empty",
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = out.parent / f".{out.name}.{uuid.uuid4().hex}"
    partial.mkdir()
    try:
        yield partial
        partial.rename(out)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    text = json.dumps(manifest, ensure_ascii=False, indent=2) + "\n"
    (folder / MANIFEST_NAME).write_text(text, encoding="utf-8")


def hash_file(path: Path, *, rows: int | None = None) -> WrittenFile:
    with path.open("rb") as file:
        return WrittenFile(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest(), rows)


def write_lines(path: Path, lines: Iterable[str]) -> WrittenFile:
    with path.open("wb") as file:
        file.writelines(line.encode() for line in lines)
    return hash_file(path)


def copy_clip(stored: str, target: Path, *, sha256: str) -> WrittenFile:
    """Copy a clip out of the storage. Raises DamagedClipError."""
    digest = hashlib.sha256()
    with target.open("wb") as file:
        for chunk in _chunks(stored):
            digest.update(chunk)
            file.write(chunk)
    if digest.hexdigest() != sha256:
        raise DamagedClipError
    return WrittenFile(target.stat().st_size, sha256)


def _chunks(stored: str) -> Iterator[bytes]:
    try:
        with default_storage.open(stored) as source:
            while chunk := source.read(_CHUNK):
                yield chunk
    except OSError as error:
        raise DamagedClipError(error) from error


# Archives.

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
    """What `zip_folder` made, under the name that it had: the members whose path in their folder is `wanted`. For our
    own archives only: nothing in it is doubted."""
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


def files_of_study(study: Study) -> Iterator[str]:
    """The archives of a study's releases, exports and training sets, as the storage names them."""
    yield from (name for name in study.releases.values_list("file", flat=True) if name)
    for folder, kind in (("exports", "export"), ("training-sets", "training_set")):
        yield from (f"{folder}/{pk}.zip" for pk in study.jobs.filter(kind=kind).values_list("pk", flat=True))


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
