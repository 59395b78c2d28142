"""The sounds of a training set: the FLAC that raters heard, under the hash of its bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from django.core.files.storage import default_storage

from analytics.training_sets.options import TrainingSetError
from annotation.models import Clip

_AT_ONCE = 10_000
_CHUNK = 1 << 20


def copy(names: Iterable[str], folder: Path) -> None:
    """names: as in the rows, `audio/<hash>.flac`. Raises TrainingSetError for one that is not there or has changed."""
    wanted = sorted(Path(name).stem for name in names)
    (folder / "audio").mkdir(parents=True, exist_ok=True)
    for start in range(0, len(wanted), _AT_ONCE):
        rows = Clip.objects.filter(canonical_sha256__in=wanted[start : start + _AT_ONCE])
        stored = dict(rows.values_list("canonical_sha256", "canonical"))
        for sha256 in wanted[start : start + _AT_ONCE]:
            _copy(stored[sha256], sha256, folder / "audio" / f"{sha256}.flac")


def _copy(name: str, sha256: str, target: Path) -> None:
    digest = hashlib.sha256()
    try:
        with default_storage.open(name) as source, target.open("wb") as file:
            while part := source.read(_CHUNK):
                digest.update(part)
                file.write(part)
    except OSError as error:
        raise TrainingSetError(
            "no_sound",
            f"The sound {name} could not be read ({error}). Mend the storage, or leave the sounds out.",
        ) from error
    if digest.hexdigest() != sha256:
        raise TrainingSetError(
            "no_sound", f"The sound {name} is not what was taken in. Leave the sounds out."
        )
