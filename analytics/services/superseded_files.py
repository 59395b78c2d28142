"""Exports and training sets that may hold what a rater said who has asked since to be taken out."""

from __future__ import annotations

from annotation.errors import Conflict
from annotation.models import Job, RaterWithdrawal, Study

# Where a job's report says how many raters had withdrawn before it read anything.
HONOURED = "withdrawals"


def withdrawals(study: Study) -> int:
    """How many there are. They are only ever added to, so a number tells which; clocks and ids do not, for both are
    given out before others see the row."""
    return RaterWithdrawal.objects.filter(rater__study=study).count()


def refuse_superseded(job: Job) -> None:
    """Raises Conflict where a rater has withdrawn from its study since the job began to read it."""
    assert job.study is not None
    if HONOURED in job.report:
        later = withdrawals(job.study) != job.report[HONOURED]
    else:  # a report from before there was such a number
        begun = job.started_at or job.created_at
        later = RaterWithdrawal.objects.filter(rater__study=job.study_id, withdrawn_at__gte=begun).exists()
    if later:
        raise Conflict(
            "A rater has withdrawn from this study since; this file may hold what they said. Start a new one.",
            code="superseded",
        )
