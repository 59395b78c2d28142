"""Requests that may be tried again: with back-off, as long as the server asks for, and never done twice."""

from __future__ import annotations

import os
import random
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, BinaryIO

import httpx2

from concord_client.errors import ConcordError

# Files on their way to the server, as multipart forms: read piece by piece, with one open at a time.


# The fields, and the files with the field that each stands in; made anew for each attempt.
MultipartForm = Callable[[], tuple[dict[str, Any], list[tuple[str, Any]]]]


def multipart_form(fields: Mapping[str, Any], files: Sequence[tuple[str, Path]]) -> MultipartForm:
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


API = "/api/v1/"
# What says "not now" rather than "no".
RETRIED_STATUSES = {429, 502, 503, 504}
# What is wrong with the request itself: an address without https://, a token with a line's end.
NEVER_SENT = (httpx2.UnsupportedProtocol, httpx2.LocalProtocolError)
_LONGEST_PAUSE_S = 60.0
_CACHED = 256
_READS = ("GET", "HEAD")

Params = Mapping[str, Any]


class Transport:
    """`attempts`: how often one request is tried. `cached`: keep answers, and ask whether they still hold (ETags)."""

    def __init__(
        self,
        base_url: str,
        token: str,
        *,
        timeout: float,
        attempts: int,
        cached: bool,
        sleep: Callable[[float], None] = time.sleep,
        http: httpx2.Client | None = None,
    ) -> None:
        self._http = http or httpx2.Client(timeout=timeout, follow_redirects=False)
        self._base = base_url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        self.attempts, self._sleep = attempts, sleep
        self._cache: OrderedDict[str, tuple[str, Any]] | None = OrderedDict() if cached else None

    def close(self) -> None:
        self._http.close()

    def request(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        json: Any = None,
        form: MultipartForm | None = None,
    ) -> Any:
        """The answer's JSON, None where it has none. `form` makes (data, files) of a multipart request, anew for each
        attempt. Raises ConcordError."""
        headers = dict(self._headers)
        url = self.url(path, params)
        if method not in _READS:
            # The same for each attempt: the server does it once, and answers a repetition as it answered before.
            headers["Idempotency-Key"] = str(uuid.uuid4())
        elif self._cache is not None and url in self._cache:
            headers["If-None-Match"] = self._cache[url][0]
        response = self._tried(lambda: self._send(method, url, headers, json, form))
        if response.status_code == 304 and self._cache is not None and url in self._cache:
            self._cache.move_to_end(url)
            return self._cache[url][1]
        if not response.is_success:
            raise ConcordError.of(response)
        body = response.json() if _is_json(response) else response.content or None
        self._keep(method, url, response, body)
        return body

    def url(self, path: str, params: Params | None = None) -> str:
        """`path` is relative to /api/v1/, or absolute as the server's own links are."""
        address = self._base + (path if path.startswith("/") else API + path)
        stated = {name: value for name, value in (params or {}).items() if value is not None}
        return str(httpx2.URL(address).copy_merge_params(stated)) if stated else address

    @contextmanager
    def stream(self, path: str, *, headers: Mapping[str, str]) -> Iterator[httpx2.Response]:
        """One attempt at an answer that is read bit by bit. Where files are kept in a bucket, the server says so: the
        token is for the server alone and does not go there."""
        plain = {"Accept": "*/*", "Accept-Encoding": "identity", **headers}
        with self._http.stream("GET", self.url(path), headers={**self._headers, **plain}) as response:
            if not response.has_redirect_location:
                yield response
                return
            elsewhere = response.headers["Location"]
        with self._http.stream("GET", elsewhere, headers=plain) as response:
            yield response

    def pause(self, attempt: int, response: httpx2.Response | None = None) -> None:
        """Before the next attempt: as long as the server asks for, or ever longer, and never all clients at once."""
        seconds = _retry_after(response) if response is not None else None
        if seconds is None:
            seconds = 0.5 * 2**attempt * random.uniform(0.5, 1.5)
        self._sleep(min(seconds, _LONGEST_PAUSE_S))

    def _tried(self, send: Callable[[], httpx2.Response]) -> httpx2.Response:
        for attempt in range(self.attempts):
            last = attempt + 1 == self.attempts
            try:
                response = send()
            except httpx2.TransportError as error:
                if last or isinstance(error, NEVER_SENT):
                    raise ConcordError(f"The server could not be reached: {error}") from error
                self.pause(attempt)
                continue
            if last or not _is_busy(response):
                return response
            self.pause(attempt, response)
        raise AssertionError("unreachable")

    def _send(
        self, method: str, url: str, headers: dict[str, str], json: Any, form: MultipartForm | None
    ) -> httpx2.Response:
        if form is None:
            return self._http.request(method, url, headers=headers, json=json)
        data, files = form()
        try:
            return self._http.request(method, url, headers=headers, data=data, files=files)
        finally:
            for _field, (_name, file, _type) in files:
                file.close()

    def _keep(self, method: str, url: str, response: httpx2.Response, body: Any) -> None:
        etag = response.headers.get("ETag")
        if self._cache is None or method != "GET" or not etag:
            return
        self._cache[url] = (etag, body)
        self._cache.move_to_end(url)
        while len(self._cache) > _CACHED:
            self._cache.popitem(last=False)


def _is_busy(response: httpx2.Response) -> bool:
    """Also where the same write, sent before, is still being done."""
    in_progress = response.status_code == 409 and "Retry-After" in response.headers
    return in_progress or response.status_code in RETRIED_STATUSES


def _is_json(response: httpx2.Response) -> bool:
    return response.headers.get("Content-Type", "").partition(";")[0].strip() == "application/json"


def _retry_after(response: httpx2.Response) -> float | None:
    """Seconds or a date, as HTTP has it; None where the server says nothing that makes sense."""
    value = response.headers.get("Retry-After", "")
    if value.isdecimal():
        return float(value)
    try:
        then = parsedate_to_datetime(value)
    except ValueError:
        return None
    # A date that does not say which zone it is of (-0000) is UTC's.
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return max(0.0, (then - datetime.now(UTC)).total_seconds())


# Lists that come in pages, read as if they were one.


Record = dict[str, Any]


def iterate_pages(transport: Transport, path: str, params: Params | None = None) -> Iterator[Record]:
    """Every row of a list, a page at a time as it is read on. Rows that are added meanwhile make none come twice."""
    page = transport.request("GET", path, params=params)
    while True:
        yield from page["results"]
        if not page.get("next"):
            return
        page = transport.request("GET", page["next"])


# What all resources share.


class Resource:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def _get(self, path: str, **params: Any) -> Record:
        body: Record = self._transport.request("GET", path, params=params)
        return body

    def _all(self, path: str, **params: Any) -> Iterator[Record]:
        return iterate_pages(self._transport, path, params)

    def _send(self, method: str, path: str, body: Any = None) -> Record:
        answer: Record = self._transport.request(method, path, json={} if body is None else body)
        return answer

    def _send_files(self, path: str, fields: Mapping[str, Any], files: Sequence[tuple[str, Path]]) -> Record:
        answer: Record = self._transport.request("POST", path, form=multipart_form(fields, files))
        return answer

    def _next_assignment(self, path: str, held: Sequence[str]) -> Record | None:
        assignment: Record | None = self._send("POST", path, {"holding": [*held]})["assignment"]
        return assignment
