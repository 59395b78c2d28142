"""Files of texts as people upload them."""

from __future__ import annotations

import tempfile
from pathlib import Path

from django.core.files.uploadedfile import UploadedFile

from annotation.errors import FieldProblem, InvalidInput
from annotation.models import Study, User
from scoring.services import writing_files
from scoring.services.writing_file_checks import Allowing
from scoring.services.writing_files import TakenIn

MOST_BYTES = 50_000_000
TOO_LARGE = "Such a file has 50 MB at most; make several of it, or use the command."


def take_in(
    study: Study, upload: UploadedFile[bytes], *, allowing: Allowing, publishes: bool, actor: User | None
) -> TakenIn:
    """`writing_files.take_in` of what was uploaded; the file itself is not kept. Raises InvalidInput."""
    if upload.size is None or upload.size > MOST_BYTES:
        raise InvalidInput(TOO_LARGE, problems=[FieldProblem("file", TOO_LARGE)])
    name = Path((upload.name or "texts").replace("\x00", "")).name or "texts"
    with tempfile.NamedTemporaryFile(suffix=Path(name).suffix) as kept:
        for chunk in upload.chunks():
            kept.write(chunk)
        kept.flush()
        return writing_files.take_in(
            study, Path(kept.name), name=name, allowing=allowing, publishes=publishes, actor=actor
        )
