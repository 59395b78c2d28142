"""A folder as one file to download."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

# Equal folders make equal archives: every member carries this time, the earliest that a zip file can hold.
_TIME = (1980, 1, 1, 0, 0, 0)


def pack(folder: Path, target: Path) -> None:
    """Zip the files of `folder` into `target`, by name, under the name of the folder."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            member = zipfile.ZipInfo(f"{folder.name}/{path.name}", _TIME)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = 0o644 << 16
            with path.open("rb") as source, archive.open(member, "w", force_zip64=True) as part:
                shutil.copyfileobj(source, part)
