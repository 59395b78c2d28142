"""Values as an export writes them."""

from __future__ import annotations

from datetime import UTC, datetime


def utc(moment: datetime | None) -> str | None:
    """ISO 8601 in UTC, always with microseconds: 2026-03-01T09:30:00.000000Z."""
    if moment is None:
        return None
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def number(value: float | None) -> float | int | None:
    """Whole numbers without a point: 4, not 4.0."""
    return int(value) if value is not None and value.is_integer() else value
