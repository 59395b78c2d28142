"""Finding runs that have work and may have nobody at it. The database is the truth; messages only wake."""

from __future__ import annotations

from scoring.models import ScoringRun
from scoring.services import claims

# Enough to keep any number of workers busy until the next sweep.
MOST = 100


def to_wake() -> list[int]:
    """Runs that never began, or have rows that somebody could take: among them those whose worker has just died."""
    found = ScoringRun.objects.filter(state__in=ScoringRun.UNFINISHED).order_by("pk")
    return [
        run.pk
        for run in found.only("pk", "scorer")[:MOST]
        if run.scorer_id is None or claims.are_there(run.pk)
    ]
