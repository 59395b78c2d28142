"""What all resources share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from concord_client import pages
from concord_client.pages import Record
from concord_client.transport import Transport


class Resource:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def _get(self, path: str, **params: Any) -> Record:
        found: Record = self._transport.request("GET", path, params=params)
        return found

    def _all(self, path: str, **params: Any) -> Iterator[Record]:
        return pages.records(self._transport, path, params)

    def _send(self, method: str, path: str, body: Any = None) -> Record:
        found: Record = self._transport.request(method, path, json={} if body is None else body)
        return found
