"""HTTP range requests: players fetch only the bytes that they are about to play."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Protocol

from django.core.files.base import File
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse

CHUNK = 256 * 1024
# Nineteen digits number any byte there is; more would only be a way to make us count.
_RANGE = re.compile(r"bytes=(\d{0,19})-(\d{0,19})\Z")


class Readable(Protocol):
    size: int

    def read(self, start: int, stop: int) -> Iterator[bytes]:
        """The bytes from `start` to before `stop`."""


class StoredFile:
    """A file as something to send ranges of."""

    def __init__(self, file: File[bytes]) -> None:
        self._file = file
        self.size = file.size

    def read(self, start: int, stop: int) -> Iterator[bytes]:
        with self._file.open("rb") as file:
            file.seek(start)
            left = stop - start
            while left > 0 and (chunk := file.read(min(CHUNK, left))):
                left -= len(chunk)
                yield chunk


def send_range(
    request: HttpRequest, source: Readable, *, content_type: str, etag: str = ""
) -> HttpResponse | StreamingHttpResponse:
    """The whole of it (200), the one range asked for (206), or 416.

    What raters hear has no ETag and no name: both could identify it. Other files give their hash as `etag`, so that a
    download that broke off goes on with the same file or begins again.
    """
    size = source.size
    requested = _requested_range(request, etag)
    start, stop = (0, size) if requested is None else _within(*requested, size)
    if requested is not None and start >= stop:
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}"})
    response = StreamingHttpResponse(
        source.read(start, stop),
        status=200 if requested is None else 206,
        content_type=content_type,
    )
    response["Accept-Ranges"] = "bytes"
    response["Content-Length"] = str(stop - start)
    response["Cache-Control"] = "private, max-age=3600"
    if etag:
        response["ETag"] = f'"{etag}"'
    if requested is not None:
        response["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
    return response


def starts_at_first_byte(request: HttpRequest, *, etag: str = "") -> bool:
    """Whether what is asked for has the first byte, as far as the request alone tells."""
    requested = _requested_range(request, etag)
    return requested is None or requested[0] == 0


def _requested_range(request: HttpRequest, etag: str) -> tuple[int | None, int | None] | None:
    # If-Range (RFC 9110, 13.1.5): the rest of another file than the one begun is of no use.
    same = request.headers.get("If-Range", f'"{etag}"') == f'"{etag}"'
    return _parse_range(request.headers.get("Range", "")) if same else None


def _parse_range(header: str) -> tuple[int | None, int | None] | None:
    """First and last byte as asked for. None for the whole file: without a header, and for one that is malformed or
    asks for several ranges, which RFC 9110 (14.2) lets a server ignore."""
    match = _RANGE.match(header.strip())
    if match is None:
        return None
    first, last = (int(digits) if digits else None for digits in match.groups())
    empty = first is None and last is None
    backwards = first is not None and last is not None and last < first
    return None if empty or backwards else (first, last)


def _within(first: int | None, last: int | None, size: int) -> tuple[int, int]:
    """The half-open range that a file of this size has of it; empty when it has nothing."""
    if first is None:
        return max(0, size - (last or 0)), size
    return first, size if last is None else min(last + 1, size)
