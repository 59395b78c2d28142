"""The one way to write the audit log."""

from __future__ import annotations

from typing import Any

from annotation.models import AuditEvent, Study, User


def record(
    action: str, *, actor: User | None, study: Study | None = None, subject: str = "", **data: Any
) -> None:
    """Write one event, inside the transaction of what it tells of."""
    AuditEvent.objects.create(action=action, actor=actor, study=study, subject=subject, data=data)
