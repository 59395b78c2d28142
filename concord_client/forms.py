"""Files on their way to the server, as multipart forms: read piece by piece, with one open at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

# The fields, and the files with the field that each stands in; made anew for each attempt.
Form = Callable[[], tuple[dict[str, Any], list[tuple[str, Any]]]]


def form(fields: Mapping[str, Any], files: Sequence[tuple[str, Path]]) -> Form:
    """`files` are sent in the field `file`, by the names given. Raises FileNotFoundError where one is missing."""
    data = {name: str(value).lower() if isinstance(value, bool) else value for name, value in fields.items()}
    return lambda: (
        dict(data),
        [("file", (name, FileToSend(path), "application/octet-stream")) for name, path in files],
    )


def files_below(folder: Path) -> list[tuple[str, Path]]:
    """Every file of a folder, by its path from beside the folder on, as browsers name them; hidden ones left out.

    Raises FileNotFoundError where there is none.
    """
    top = folder.resolve()
    inside = [path.relative_to(top) for path in sorted(top.rglob("*")) if path.is_file()]
    named = [
        ("/".join((top.name, *path.parts)), top / path)
        for path in inside
        if not any(part.startswith(".") for part in path.parts)
    ]
    if not named:
        raise FileNotFoundError(f"There is no file in {folder}.")
    return named


class FileToSend:
    """As much of a file as a form asks for. It is open from its first piece to its last: of a folder of thousands, one
    at a time."""

    def __init__(self, path: Path) -> None:
        self._path, self._size = path, path.stat().st_size
        self._file: BinaryIO | None = None

    def tell(self) -> int:
        return 0 if self._file is None else self._file.tell()

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """To its beginning, or (SEEK_END) only to say how long it is."""
        if whence == os.SEEK_END:
            return self._size
        self.close()
        return 0

    def read(self, size: int) -> bytes:
        if self._file is None:
            self._file = self._path.open("rb")
        piece = self._file.read(size)
        if not piece:
            self.close()
        return piece

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
