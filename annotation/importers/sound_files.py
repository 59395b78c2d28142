"""The sound files of a folder, by their names; what leads out of the folder is told and left alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from annotation.importers.records import RowProblem

SUFFIXES = frozenset(
    {
        ".wav",
        ".mp3",
        ".flac",
        ".ogg",
        ".oga",
        ".opus",
        ".m4a",
        ".aac",
        ".aif",
        ".aiff",
        ".wma",
        ".webm",
        ".mp4",
    }
)
# What systems put into folders for themselves.
NOT_OURS = frozenset({"__MACOSX", "Thumbs.db", "desktop.ini"})


def is_sound(name: str | Path) -> bool:
    return Path(name).suffix.lower() in SUFFIXES


def is_ours(name: str) -> bool:
    return not name.startswith(".") and name not in NOT_OURS


def walk(folder: Path) -> Iterator[Path | RowProblem]:
    """Every file below a folder, sorted, folder after folder. Links are followed to files inside it only."""
    root = folder.resolve()
    for place, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if is_ours(name))
        for name in list(folders):
            if (Path(place) / name).is_symlink():
                folders.remove(name)
                yield _link(Path(place) / name, root)
        for name in sorted(filter(is_ours, names)):
            path = Path(place) / name
            if path.is_symlink() and not path.resolve().is_relative_to(root):
                yield _link(path, root)
            else:
                yield path


def _link(path: Path, root: Path) -> RowProblem:
    problem = "is a link to somewhere else"
    return RowProblem(str(path.relative_to(root)), "", problem, "Put the files themselves there.")
