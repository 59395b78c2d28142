"""Versions of what was read. An ETag is a digest of the body and tells nothing that the body does not. Only JSON has
one: sound that carried one could be recognised by it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from django.db import connection
from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.http.response import HttpResponseBase
from django.utils.http import parse_etags

from annotation.api.errors import problem_response

View = Callable[..., HttpResponseBase]


def etag_of(response: HttpResponseBase) -> str | None:
    """The ETag of a body that has one."""
    if response.status_code != 200 or response.streaming or not isinstance(response, HttpResponse):
        return None
    if response.get("Content-Type", "").partition(";")[0] != "application/json":
        return None
    return f'"{hashlib.sha256(response.content).hexdigest()[:32]}"'


def conditional(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """What was read, with its ETag; 304 to whoever has it already."""
    etag = etag_of(response)
    if etag is None:
        return response
    response["ETag"] = etag
    if "Cache-Control" not in response:
        response["Cache-Control"] = "private, no-cache"
    if not _names(request.headers.get("If-None-Match", ""), etag):
        return response
    unchanged = HttpResponseNotModified()
    for name in ("ETag", "Cache-Control", "Vary"):
        if name in response:
            unchanged[name] = response[name]
    unchanged.cookies = response.cookies
    return unchanged


def failed(request: HttpRequest, view: View, args: Any, kwargs: Any) -> HttpResponseBase | None:
    """412 where `If-Match` names another version than there is now, and the refusal to read where it may not be read.

    None where it is the same, and where there is nothing to see: what the write itself says then holds. Inside the
    transaction of the write.

    Two writes that both come with `If-Match` take turns, so that the second sees what the first did. One that comes
    without it, as those of the pages do, may still come between.
    """
    _take_turn(request.path)
    if not hasattr(view, "cls") or not hasattr(view.cls, "get"):
        return problem_response(
            412, "no_version", "There is no version to compare at this address. Leave If-Match out."
        )
    current = _read(request, view, args, kwargs)
    if current.status_code in (403, 429):
        return current  # who may not read cannot compare, and must not write over what they never saw
    if current.status_code != 200:
        return None
    etag = etag_of(current)
    if etag is not None and _names(request.headers["If-Match"], etag):
        return None
    return problem_response(
        412, "changed", "This was changed since you read it. Read it again, and change what it is now."
    )


def _read(request: HttpRequest, view: View, args: Any, kwargs: Any) -> HttpResponseBase:
    """What whoever writes would read at this address now."""
    reading = HttpRequest()
    reading.META = {
        name: value for name, value in request.META.items() if name not in ("CONTENT_TYPE", "CONTENT_LENGTH")
    }
    reading.META["REQUEST_METHOD"] = reading.method = "GET"
    reading.path, reading.path_info = request.path, request.path_info
    reading.COOKIES = request.COOKIES
    for name in ("session", "user", "_messages", "LANGUAGE_CODE", "resolver_match"):
        if hasattr(request, name):
            setattr(reading, name, getattr(request, name))
    response = view(reading, *args, **kwargs)
    if hasattr(response, "render"):
        response.render()
    return response


def _take_turn(path: str) -> None:
    lock = int.from_bytes(hashlib.sha256(path.encode(errors="replace")).digest()[:8], signed=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [lock])


def _names(header: str, etag: str) -> bool:
    """Whether a header names this version. `W/` is no matter: proxies put it before the ETag of what they compress."""
    named = parse_etags(header)
    return "*" in named or etag in [name.removeprefix("W/") for name in named]
