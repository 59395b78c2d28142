"""Exports and training sets that may hold what a rater said who has asked since to be taken out."""

from __future__ import annotations

from annotation.errors import Conflict
from annotation.models import Job, RaterWithdrawal


def refuse_superseded(job: Job) -> None:
    """Raises Conflict where a rater has withdrawn from its study since the job was begun."""
    begun = job.started_at or job.created_at
    if RaterWithdrawal.objects.filter(rater__study=job.study_id, withdrawn_at__gte=begun).exists():
        raise Conflict(
            "A rater has withdrawn from this study since; this file may hold what they said. Start a new one.",
            code="superseded",
        )
