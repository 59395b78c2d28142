"""What an export says of how a judgment was listened to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analytics.records.plain import number
from annotation.rules.coverage import read, unique_seconds
from annotation.rules.presentation import labels


def listening_record(
    telemetry: Mapping[str, Any] | None,
    *,
    gains: Sequence[float | None] | None,
    presentation: Sequence[int] | None,
    layout: str,
) -> dict[str, Any]:
    """`gains_db` and `heard_s` are by position, as in `presentation`; `heard_item_s` is of the item's own clips.

    Seconds are unique coverage: what was heard twice counts once. None where nothing was logged, or nonsense was.
    """
    log = read(telemetry)
    told = {} if log.problems or telemetry is None else telemetry
    names = labels(layout).lower()[: len(presentation or ())]
    heard = {name: number(round(unique_seconds(spans), 2)) for name, spans in log.heard.items()}
    logged = "heard" in told and bool(names)
    return {
        "gains_db": None if gains is None else list(gains),
        "heard_s": [heard.get(name, 0) for name in names] if logged else None,
        "heard_item_s": {name: heard[name] for name in heard if name not in names} if logged else None,
        "switches": log.switches if "switches" in told else None,
        "session_s": _seconds(told.get("session_s")),
    }


def _seconds(value: Any) -> float | int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return number(float(value)) if 0 <= value < 1e9 else None
