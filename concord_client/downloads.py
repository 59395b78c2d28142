"""Large files: fetched piece by piece, gone on with where it stopped, checked at the end."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import httpx2

from concord_client.errors import ConcordError, DownloadError
from concord_client.transport import NEVER_SENT, Transport

Progress = Callable[[int, int | None], None]
_BUSY = {429, 502, 503, 504}


def fetch(
    transport: Transport,
    path: str,
    to: Path,
    *,
    sha256: str | None = None,
    on_progress: Progress | None = None,
) -> Path:
    """Store what lies at `path` as `to`. What has come is kept as `to`.part, also when this is interrupted: the next
    call goes on from there. `on_progress` hears of bytes: those that are here, and all there are (None: not known).

    Raises ConcordError where the server refuses, DownloadError where the file is not the one that `sha256`, or else the
    server, says it is.
    """
    part = to.with_name(f"{to.name}.part")
    attempt = 0
    while True:
        before = _size(part)
        try:
            if _some(transport, path, part, on_progress):
                break
        except (httpx2.TransportError, _Busy) as error:
            # As long as something comes, it goes on.
            attempt = 0 if _size(part) > before else attempt + 1
            if attempt >= transport.attempts or isinstance(error, NEVER_SENT):
                raise ConcordError(f"The download broke off too often: {error}") from error
            transport.pause(attempt, error.response if isinstance(error, _Busy) else None)
    wanted = sha256 or _told(_begun(part))
    if wanted and _digest(part) != wanted:
        part.unlink()
        _begun(part).unlink(missing_ok=True)
        raise DownloadError(f"{to.name} is not the file that was made; it was removed. Fetch it again.")
    part.replace(to)
    _begun(part).unlink(missing_ok=True)
    return to


class _Busy(Exception):
    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        super().__init__(f"the server is busy ({response.status_code})")


def _some(transport: Transport, path: str, part: Path, on_progress: Progress | None) -> bool:
    """One request for what is missing; True once all is here. The rest is asked for of the file that was begun: where
    the server has another by now, it sends that from its start."""
    have, begun = _size(part), _begun(part)
    of_this_file = {"If-Range": begun.read_text()} if begun.exists() else {}
    with transport.stream(
        path, headers={"Range": f"bytes={have}-", **of_this_file} if have else {}
    ) as response:
        if response.status_code in _BUSY:
            raise _Busy(response)
        if response.status_code == 416 and have and _whole(response) == have:
            return True
        if response.status_code == 416 and have:
            part.unlink()  # what is here is of another file
            return False
        if not response.is_success:
            response.read()
            raise ConcordError.of(response)
        goes_on = response.status_code == 206
        total = _whole(response) if goes_on else _length(response)
        have = have if goes_on else 0
        if not goes_on:
            _note(begun, response.headers.get("ETag", ""))
        with part.open("ab" if goes_on else "wb") as file:
            # Without a size of pieces: gathering them would lose what has come when it breaks off.
            for piece in response.iter_bytes():
                file.write(piece)
                have += len(piece)
                if on_progress is not None:
                    on_progress(have, total)
    return total is None or have >= total


def _whole(response: httpx2.Response) -> int | None:
    """Of a Content-Range, as `bytes 5-9/10` or `bytes */10`."""
    size = response.headers.get("Content-Range", "").rpartition("/")[2]
    return int(size) if size.isdecimal() else None


def _length(response: httpx2.Response) -> int | None:
    length = response.headers.get("Content-Length", "")
    return int(length) if length.isdecimal() else None


def _note(begun: Path, etag: str) -> None:
    if etag:
        begun.write_text(etag)
    else:
        begun.unlink(missing_ok=True)


def _told(begun: Path) -> str:
    """The hash that the server named the file by, if it did."""
    etag = begun.read_text().strip('"') if begun.exists() else ""
    return etag if len(etag) == 64 and set(etag) <= set("0123456789abcdef") else ""


def _begun(part: Path) -> Path:
    """Keeps the ETag of the file that `part` is the beginning of."""
    return part.with_name(f"{part.name}.etag")


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
