"""A folder as one file to download."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

# Equal folders make equal archives: every member carries this time, the earliest that a zip file can hold.
_TIME = (1980, 1, 1, 0, 0, 0)
_PACKED = {".parquet", ".flac", ".mp3", ".ogg", ".opus", ".m4a"}


def pack(folder: Path, target: Path) -> None:
    """Zip the files of `folder` and of those in it into `target`, by name, under the name of the folder."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            name = path.relative_to(folder).as_posix()
            member = zipfile.ZipInfo(f"{folder.name}/{name}", _TIME)
            # What is packed already gains nothing from being packed again, and takes long.
            member.compress_type = zipfile.ZIP_STORED if path.suffix in _PACKED else zipfile.ZIP_DEFLATED
            member.external_attr = 0o644 << 16
            with path.open("rb") as source, archive.open(member, "w", force_zip64=True) as part:
                shutil.copyfileobj(source, part)


def unpack(archive: IO[bytes], folder: Path, *, wanted: Callable[[str], bool]) -> None:
    """What `pack` made, under the name that it had: the members whose path in their folder is `wanted`. For our own
    archives only: nothing in it is doubted."""
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(folder, [name for name in packed.namelist() if wanted(name.partition("/")[2])])
