"""All files of a release, from a cut."""

from __future__ import annotations

import hashlib
import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from django.core.files.storage import default_storage
from django.db import connection

from analytics.records.moment import one_moment
from analytics.releases import card, croissant, items_sql, manifest, tables
from analytics.releases.configs import CONFIGS
from analytics.releases.cut import Cut
from analytics.releases.tables import OnRows, Written
from annotation.errors import Conflict, InvalidInput
from annotation.models import Study

_CHUNK = 1024 * 1024


def write(cut: Cut, study: Study, *, out: Path, on_rows: OnRows = lambda n: None) -> dict[str, Any]:
    """Fill the folder `out`, which must be empty or absent, and return the manifest.

    The folder appears complete or not at all. Equal cuts of equal data by equal code give equal bytes, whatever has
    been added to the data since. `on_rows` hears of rows written, inside the transaction that reads them.
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
        made = _fill(partial, cut, study, on_rows)
        partial.rename(out)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return made


def _fill(folder: Path, cut: Cut, study: Study, on_rows: OnRows) -> dict[str, Any]:
    params = {**cut.horizon.params(study), "audio": cut.wishes.audio}
    files: dict[str, Written] = {}
    with one_moment():
        for name, config in CONFIGS.items():
            paths = manifest.parquet_path(name), manifest.jsonl_path(name)
            written = tables.write(
                config.select,
                params,
                config.columns,
                parquet=folder / paths[0],
                jsonl=folder / paths[1],
                on_rows=on_rows,
                changes=config.changes,
            )
            if written:
                files |= dict(zip(paths, written, strict=True))
        files |= _audio(folder, cut, study, params, on_rows)
        left_out = manifest.left_out(study, cut)
        texts: dict[str, Callable[[], str]] = {
            card.NAME: lambda: card.make(cut, files, left_out),
            croissant.NAME: lambda: croissant.make(cut, files),
        }
        for name, text in {name: make() for name, make in texts.items()}.items():
            (folder / name).write_text(text, encoding="utf-8")
            files[name] = tables.hashed(folder / name)
        made = manifest.make(study, cut, dict(sorted(files.items())), left_out)
    (folder / manifest.NAME).write_text(manifest.written(made), encoding="utf-8")
    return made


def _audio(
    folder: Path, cut: Cut, study: Study, params: dict[str, Any], on_rows: OnRows
) -> dict[str, Written]:
    """The clips, each under the hash that its rows name it by."""
    if not cut.wishes.audio:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(items_sql.SOUNDS, params)
        sounds = cursor.fetchall()
    (folder / "audio").mkdir()
    found: dict[str, Written] = {}
    for path, stored, digest in sounds:
        found[path] = _copied(stored, folder / path, digest)
        on_rows(1)
    return found


def _copied(stored: str, target: Path, expected: str) -> Written:
    """Raises Conflict for a sound that is not there, or not what it was."""
    digest = hashlib.sha256()
    with target.open("wb") as file:
        for chunk in _chunks(stored):
            digest.update(chunk)
            file.write(chunk)
    if digest.hexdigest() != expected:
        raise _damaged(stored, "is not what its name says: it was altered or cut short")
    return Written(target.stat().st_size, expected)


def _chunks(stored: str) -> Iterator[bytes]:
    try:
        with default_storage.open(stored) as source:
            while chunk := source.read(_CHUNK):
                yield chunk
    except OSError as error:
        raise _damaged(stored, f"cannot be read ({type(error).__name__})") from error


def _damaged(stored: str, how: str) -> Conflict:
    return Conflict(
        f"The stored file {stored} {how}. Restore it from a backup, or make the release without audio.",
        code="damaged_clip",
    )
