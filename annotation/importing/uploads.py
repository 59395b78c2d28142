"""Uploads through the browser or the API: limits, temporary files, unpacking, retention until their import ends."""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.base import File
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler
from django.utils import timezone

from annotation.access import check_token_study
from annotation.errors import FieldProblem, InvalidInput, NotAllowed
from annotation.importing import archives, import_jobs
from annotation.importing.archives import upload_refused
from annotation.importing.formats import FORMATS, RowProblem, table
from annotation.importing.formats.detection import TablePreview, detect_format, preview_table
from annotation.importing.options import NewStudy
from annotation.models import Job, Study, Upload, User
from annotation.protocols import Protocol

# Uploads nobody works on are kept this long: a trial import is repeated for real with the same file.
RETENTION_S = 24 * 3600
# The suffix of an archive's table, by format; formats of whole folders have none.
TABLE_SUFFIXES = {
    "csv": ".csv",
    "tsv": ".tsv",
    "json": ".json",
    "jsonl": ".jsonl",
    "parquet": ".parquet",
    "cmi-pref": ".jsonl",
    "aes": ".jsonl",
    "label-studio": ".json",
}


def store_upload(upload: File[bytes], *, format: str) -> Path:
    """Store an uploaded table, or unpack an archive of a table and its audio; the source to import.

    Raises InvalidInput, pointing at the field `file`, for an archive that cannot or must not be unpacked.
    """
    with _new_upload_folder() as folder:
        return find_source(_store_into(folder, [(upload.name or "source", upload)]), format=format)


def store_files(files: Sequence[tuple[str, File[bytes]]]) -> Path:
    """Store files by their relative names in a folder of their own, a lone archive unpacked. Returns that folder, or
    the file where there is but one that is no archive.

    Raises InvalidInput as `store_upload` does, and then nothing is left.
    """
    with _new_upload_folder() as folder:
        return _store_into(folder, files)


@contextmanager
def _new_upload_folder() -> Iterator[Path]:
    """A folder for one upload, which goes where storing it fails."""
    discard_finished_uploads()
    folder = _uploads_folder() / str(uuid.uuid4())
    folder.mkdir(parents=True)
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _store_into(folder: Path, files: Sequence[tuple[str, File[bytes]]]) -> Path:
    if len(files) > 1:
        for name, file in files:
            _write_file(file, folder / archives.safe_path_below(name, "folder"))
        return folder
    [(name, file)] = files
    if not archives.unpack_archive(file, folder):
        return _write_file(file, folder / _short_name(name))
    if not _user_files(folder):
        raise upload_refused("The archive is empty.", "Put the files in and make it again.")
    return folder


def find_source(stored: Path, *, format: str) -> Path:
    """What an import of this format reads of what was kept: the table, or the folder for formats of many files.

    Raises InvalidInput where there is no such table, or several.
    """
    if stored.is_file():
        return stored
    folder = unwrap_folder(stored)
    if format not in TABLE_SUFFIXES:
        return folder
    suffix = TABLE_SUFFIXES[format]
    tables = sorted(path for path in _user_files(folder) if path.suffix.lower() == suffix)
    if len(tables) == 1:
        return tables[0]
    names = ", ".join(path.name for path in tables[:5])
    problem = f"The archive holds {names}." if tables else f"The archive holds no {suffix} file at its top."
    raise upload_refused(problem, f"Put one {suffix} file at the top, and the audio beside or below it.")


def discard_finished_uploads() -> None:
    """Delete uploads that no unfinished import reads."""
    if not _uploads_folder().is_dir():
        return
    unfinished = Job.objects.filter(kind="import", state__in=Job.UNFINISHED)
    sources = [Path(source) for source in unfinished.values_list("params__source", flat=True)]
    for folder in _uploads_folder().iterdir():
        old = time.time() - folder.stat().st_mtime > RETENTION_S
        if old and not any(source.is_relative_to(folder) for source in sources):
            shutil.rmtree(folder, ignore_errors=True)
    Upload.objects.filter(created_at__lt=timezone.now() - timedelta(seconds=RETENTION_S)).delete()


def _uploads_folder() -> Path:
    return Path(settings.HOME) / "uploads"


def _short_name(name: str) -> str:
    """A name that any file system takes, still known to whoever sent it."""
    path = Path(Path(name).name)
    return f"{path.stem[:50]}{path.suffix[:10]}"


def _write_file(upload: File[bytes], target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with target.open("xb") as file:
            # The files of a folder are not open; only this reads them.
            for chunk in upload.chunks():
                file.write(chunk)
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        raise upload_refused(f"Two files are called {target.name!r}.", "Keep one of them.") from None
    return target


def unwrap_folder(folder: Path) -> Path:
    """Archives are often made of a folder: then what counts is inside."""
    inside = _user_files(folder)
    if len(inside) == 1 and inside[0].is_dir():
        return unwrap_folder(inside[0])
    return folder


def _user_files(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if archives.is_user_file(path.name)]


# Uploads that are previewed before they are imported


def receive_upload(files: Sequence[tuple[str, File[bytes]]], *, actor: User, study: Study | None) -> Upload:
    """Keep files by their relative names. `study` is the one they are for; None where they are to make one.

    Raises InvalidInput for what cannot be kept, pointing at the field `file`; nothing is left then.
    """
    if study is None and not actor.may_create_studies:
        raise NotAllowed("Your account may not create studies; ask an operator for it.")
    if study is None:
        check_token_study(actor, None)
    if not files:
        problem = FieldProblem("file", "No file came with this.", "Choose a file or a folder.")
        raise InvalidInput("There is nothing to import.", problems=[problem], code="no_file")
    stored = store_files(files)
    top = files[0][0].replace("\\", "/").partition("/")[0] if len(files) > 1 else files[0][0]
    return Upload.objects.create(
        study=study,
        created_by=actor,
        source=str(stored),
        name=top[:200],
        n_files=len(files),
        n_bytes=sum(file.size or 0 for _, file in files),
    )


def detect_upload_format(upload: Upload) -> tuple[str, str] | RowProblem:
    """The format that the files look like, with why; or that they look like none."""
    return detect_format(_unwrapped_path(upload))


def preview_upload(upload: Upload, *, format: str, protocol: Protocol | None = None) -> TablePreview | None:
    """The columns and first rows; None for formats whose columns are fixed. Raises InvalidInput as `uploads.source`."""
    if format not in table.TABLE_READERS:
        return None
    return preview_table(find_source(_existing_path(upload), format=format), format, protocol=protocol)


def import_upload(
    upload: Upload, *, format: str, actor: User, new_study: NewStudy | None = None, **options: Any
) -> Job:
    """Import what was received, into its study or the one that it is to make. Options are those of `imports.start`."""
    path = _existing_path(upload)
    if format not in FORMATS:
        raise InvalidInput(f"{format!r} is not a format; use {', '.join(FORMATS)}.", code="bad_format")
    if upload.study is None and new_study is None:
        problem = FieldProblem("new_study", "These files are for no study yet.", "Say which study to make.")
        raise InvalidInput("There is no study to import into.", problems=[problem], code="no_study")
    source = find_source(path, format=format)
    new_ = new_study if upload.study is None else None
    return import_jobs.start(upload.study, source, format=format, actor=actor, new_study=new_, **options)


def upload_of_job(job: Job, *, by: User) -> Upload | None:
    """What an import reads, while it is kept, for the account that brought it."""
    source = Path(job.params.get("source", ""))
    if job.kind != "import" or not source.exists():
        return None
    places = [str(place) for place in (source, *source.parents)]
    return Upload.objects.filter(created_by=by, study=job.study_id, source__in=places).first()


def _existing_path(upload: Upload) -> Path:
    path = Path(upload.source)
    if not path.exists():
        problem = FieldProblem("file", "These files are not kept any more.", "Bring them again.")
        raise InvalidInput("The upload is gone.", problems=[problem], code="upload_gone")
    return path


def _unwrapped_path(upload: Upload) -> Path:
    path = _existing_path(upload)
    return path if path.is_file() else unwrap_folder(path)


# Upload handling: to disk, never to memory, and bounded


class ClosedDiskFile(UploadedFile):  # type: ignore[type-arg]
    """A file on disk that is open only while somebody reads it: a folder has more files than a process may have open.
    It is deleted when it is closed, at its request's end."""

    def __init__(self, name: str, content_type: str, charset: str | None, extra: Any) -> None:
        self._kept = NamedTemporaryFile(suffix=".upload", dir=settings.FILE_UPLOAD_TEMP_DIR)  # noqa: SIM115
        self._kept.file.close()  # the file within; closing the temporary file itself deletes it
        self._open: IO[bytes] | None = None
        super().__init__(None, name, content_type, 0, charset, extra)

    @property
    def file(self) -> IO[bytes]:
        if self._open is None:
            self._open = open(self._kept.name, "r+b")  # noqa: SIM115
        return self._open

    @file.setter
    def file(self, file: IO[Any] | None) -> None:
        """Django's files are given theirs; this one has its own."""

    def chunks(self, chunk_size: int | None = None) -> Iterator[bytes]:
        """The whole content. Nothing stays open."""
        with open(self._kept.name, "rb") as file:
            while chunk := file.read(chunk_size or self.DEFAULT_CHUNK_SIZE):
                yield chunk

    def rest(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def close(self) -> None:
        self.rest()
        self._kept.close()


class BoundedUploadHandler(FileUploadHandler):
    """Takes no larger requests than it should: forms are read before a view can ask who sends them."""

    _file: ClosedDiskFile

    def handle_raw_input(
        self, input_data: Any, META: Any, content_length: int, *args: Any, **kwargs: Any
    ) -> None:
        if content_length > settings.UPLOAD_MAX_BYTES:
            raise RequestDataTooBig(f"The upload exceeds CONCORD_UPLOAD_MAX_MB: {content_length} bytes.")

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        self._file = ClosedDiskFile(
            self.file_name or "", self.content_type or "", self.charset, self.content_type_extra
        )

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        self._file.file.write(raw_data)

    def file_complete(self, file_size: int) -> ClosedDiskFile:
        self._file.size = file_size
        self._file.rest()
        return self._file

    def upload_interrupted(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()
