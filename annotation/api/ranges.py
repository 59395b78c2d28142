"""Sending a stored file with HTTP range support, which media elements need to seek."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO

from django.core.files.base import File
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse

CHUNK = 256 * 1024
_RANGE = re.compile(r"bytes=(\d*)-(\d*)\Z")


def send(
    request: HttpRequest, file: File[bytes], *, content_type: str
) -> HttpResponse | StreamingHttpResponse:
    """The whole file (200), the one range asked for (206), or 416. No ETag and no name: both could identify it."""
    size = file.size
    wanted = _wanted(request.headers.get("Range", ""), size)
    if wanted is None:
        file.close()
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}"})
    start, stop = wanted
    whole = "Range" not in request.headers
    response = StreamingHttpResponse(
        _chunks(file.open("rb"), start, stop), status=200 if whole else 206, content_type=content_type
    )
    response["Accept-Ranges"] = "bytes"
    response["Content-Length"] = str(stop - start)
    response["Cache-Control"] = "private, max-age=3600"
    if not whole:
        response["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
    return response


def _wanted(header: str, size: int) -> tuple[int, int] | None:
    """The half-open byte range, (0, size) without a header, None when it cannot be satisfied."""
    if not header:
        return 0, size
    match = _RANGE.match(header.strip())
    if match is None or match.group(0) == "bytes=-":
        return None
    first, last = match.groups()
    if first == "":
        length = min(int(last), size)
        return (size - length, size) if length else None
    start = int(first)
    stop = min(int(last) + 1, size) if last else size
    return (start, stop) if start < stop else None


def _chunks(file: IO[bytes], start: int, stop: int) -> Iterator[bytes]:
    with file:
        file.seek(start)
        left = stop - start
        while left > 0 and (chunk := file.read(min(CHUNK, left))):
            left -= len(chunk)
            yield chunk
