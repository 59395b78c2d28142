"""Lists that come in pages, read as if they were one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from concord_client.transport import Params, Transport

Record = dict[str, Any]


def records(transport: Transport, path: str, params: Params | None = None) -> Iterator[Record]:
    """Every row of a list, a page at a time as it is read on. Rows that are added meanwhile make none come twice."""
    page = transport.request("GET", path, params=params)
    while True:
        yield from page["results"]
        if not page.get("next"):
            return
        page = transport.request("GET", page["next"])
