"""Files that somebody brings before anything is said of them: kept, looked at, then imported as they say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.files.base import File

from annotation.access import check_token
from annotation.errors import FieldProblem, InvalidInput, NotAllowed
from annotation.importers import FORMATS, RowProblem, table
from annotation.importers.peek import Peek, guess_format, peek
from annotation.models import Job, Study, Upload, User
from annotation.protocols import Protocol
from annotation.services import imports, uploads
from annotation.services.import_orders import NewStudy


def receive(files: Sequence[tuple[str, File[bytes]]], *, actor: User, study: Study | None) -> Upload:
    """Keep files by their relative names. `study` is the one they are for; None where they are to make one.

    Raises InvalidInput for what cannot be kept, pointing at the field `file`; nothing is left then.
    """
    if study is None and not actor.may_create_studies:
        raise NotAllowed("Your account may not create studies; ask an operator for it.")
    if study is None:
        check_token(actor, None)
    if not files:
        problem = FieldProblem("file", "No file came with this.", "Choose a file or a folder.")
        raise InvalidInput("There is nothing to import.", problems=[problem], code="no_file")
    kept = uploads.keep(files)
    top = files[0][0].replace("\\", "/").partition("/")[0] if len(files) > 1 else files[0][0]
    return Upload.objects.create(
        study=study,
        created_by=actor,
        source=str(kept),
        name=top[:200],
        n_files=len(files),
        n_bytes=sum(file.size or 0 for _, file in files),
    )


def guess(upload: Upload) -> tuple[str, str] | RowProblem:
    """The format that the files look like, with why; or that they look like none."""
    return guess_format(_root(upload))


def look(upload: Upload, *, format: str, protocol: Protocol | None = None) -> Peek | None:
    """The columns and first rows; None for formats whose columns are fixed. Raises InvalidInput as `uploads.source`."""
    if format not in table.TABLES:
        return None
    return peek(uploads.source(_there(upload), format=format), format, protocol=protocol)


def start(
    upload: Upload, *, format: str, actor: User, new_study: NewStudy | None = None, **options: Any
) -> Job:
    """Import what was received, into its study or the one that it is to make. Options are those of `imports.start`."""
    there = _there(upload)
    if format not in FORMATS:
        raise InvalidInput(f"{format!r} is not a format; use {', '.join(FORMATS)}.", code="bad_format")
    if upload.study is None and new_study is None:
        problem = FieldProblem("new_study", "These files are for no study yet.", "Say which study to make.")
        raise InvalidInput("There is no study to import into.", problems=[problem], code="no_study")
    source = uploads.source(there, format=format)
    new = new_study if upload.study is None else None
    return imports.start(upload.study, source, format=format, actor=actor, new_study=new, **options)


def brought_for(job: Job, *, by: User) -> Upload | None:
    """What an import reads, while it is kept, for the account that brought it."""
    source = Path(job.params.get("source", ""))
    if job.kind != "import" or not source.exists():
        return None
    places = [str(place) for place in (source, *source.parents)]
    return Upload.objects.filter(created_by=by, study=job.study_id, source__in=places).first()


def _there(upload: Upload) -> Path:
    path = Path(upload.source)
    if not path.exists():
        problem = FieldProblem("file", "These files are not kept any more.", "Bring them again.")
        raise InvalidInput("The upload is gone.", problems=[problem], code="upload_gone")
    return path


def _root(upload: Upload) -> Path:
    path = _there(upload)
    return path if path.is_file() else uploads.without_wrapping(path)
