"""Requests that may be tried again: with back-off, as long as the server asks for, and never done twice."""

from __future__ import annotations

import random
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2

from concord_client.errors import ConcordError
from concord_client.forms import Form

API = "/api/v1/"
# What says "not now" rather than "no".
_BUSY = {429, 502, 503, 504}
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
        self._attempts, self._sleep = attempts, sleep
        self._kept: OrderedDict[str, tuple[str, Any]] | None = OrderedDict() if cached else None

    def close(self) -> None:
        self._http.close()

    def request(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        json: Any = None,
        form: Form | None = None,
    ) -> Any:
        """The answer's JSON, None where it has none. `form` makes (data, files) of a multipart request, anew for each
        attempt. Raises ConcordError."""
        headers = dict(self._headers)
        url = self.url(path, params)
        if method not in _READS:
            # The same for each attempt: the server does it once, and answers a repetition as it answered before.
            headers["Idempotency-Key"] = str(uuid.uuid4())
        elif self._kept is not None and url in self._kept:
            headers["If-None-Match"] = self._kept[url][0]
        response = self._tried(lambda: self._send(method, url, headers, json, form))
        if response.status_code == 304 and self._kept is not None and url in self._kept:
            self._kept.move_to_end(url)
            return self._kept[url][1]
        if not response.is_success:
            raise ConcordError.of(response)
        body = response.json() if _is_json(response) else response.content or None
        self._keep(method, url, response, body)
        return body

    def url(self, path: str, params: Params | None = None) -> str:
        """`path` is relative to /api/v1/, or absolute as the server's own links are."""
        address = self._base + (path if path.startswith("/") else API + path)
        wanted = {name: value for name, value in (params or {}).items() if value is not None}
        return str(httpx2.URL(address).copy_merge_params(wanted)) if wanted else address

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
        wanted = _retry_after(response) if response is not None else None
        back_off = 0.5 * 2**attempt * random.uniform(0.5, 1.5)
        self._sleep(min(back_off if wanted is None else wanted, _LONGEST_PAUSE_S))

    @property
    def attempts(self) -> int:
        return self._attempts

    def _tried(self, send: Callable[[], httpx2.Response]) -> httpx2.Response:
        for attempt in range(self._attempts):
            last = attempt + 1 == self._attempts
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
        self, method: str, url: str, headers: dict[str, str], json: Any, form: Form | None
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
        if self._kept is None or method != "GET" or not etag:
            return
        self._kept[url] = (etag, body)
        self._kept.move_to_end(url)
        while len(self._kept) > _CACHED:
            self._kept.popitem(last=False)


def _is_busy(response: httpx2.Response) -> bool:
    """Also where the same write, sent before, is still being done."""
    in_progress = response.status_code == 409 and "Retry-After" in response.headers
    return in_progress or response.status_code in _BUSY


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
