"""The one way to write what happens to a review case."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from annotation.models import CaseEvent, ReviewCase, User


def record(case: ReviewCase, kind: CaseEvent.Kind, *, actor: User | None, **data: Any) -> None:
    """Write one event, inside the transaction of what it tells of."""
    CaseEvent.objects.create(case=case, kind=kind, actor=actor, data=data)


def record_all(case_ids: Iterable[int], kind: CaseEvent.Kind, *, actor: User | None, **data: Any) -> None:
    """The same event for many cases, by few statements."""
    events = (CaseEvent(case_id=case_id, kind=kind, actor=actor, data=data) for case_id in case_ids)
    CaseEvent.objects.bulk_create(events, batch_size=5000)
