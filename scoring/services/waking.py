"""Finding runs that have work and may have nobody at it. The database is the truth; messages only wake."""

from __future__ import annotations

from django.db.models import F

from scoring.models import ScoringRun
from scoring.services import claims

# Enough to keep any number of workers busy until the next sweep.
MOST = 100


def to_wake() -> list[int]:
    """Runs that are to begin, or have rows that somebody could take: among them those whose worker has just died.
    Those that have waited longest come first, so that runs take turns at one worker."""
    found = ScoringRun.objects.filter(state__in=ScoringRun.UNFINISHED)
    in_turn = found.order_by(F("worked_at").asc(nulls_first=True), "pk").only("pk", "state")[:MOST]
    return [run.pk for run in in_turn if run.state == ScoringRun.State.QUEUED or claims.are_there(run.pk)]
