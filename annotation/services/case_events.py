"""The one way to write what happens to a review case."""

from __future__ import annotations

from typing import Any

from annotation.models import CaseEvent, ReviewCase, User


def record(case: ReviewCase, kind: CaseEvent.Kind, *, actor: User | None, **data: Any) -> None:
    """Write one event, inside the transaction of what it tells of."""
    CaseEvent.objects.create(case=case, kind=kind, actor=actor, data=data)
