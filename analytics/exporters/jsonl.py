"""JSON Lines: one object per judgment with its answers inside, one per item version with its candidates,
listening check, correction and review case."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any


def lines(records: Iterable[dict[str, Any]]) -> Iterator[str]:
    for record in records:
        yield json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"
