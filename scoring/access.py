"""The door from a scoring run's number to the run."""

from __future__ import annotations

from annotation.access import study_of
from annotation.errors import NotFound
from annotation.models import User
from scoring.models import ScoringRun


def run_of(user: User, run_id: int) -> ScoringRun:
    """A run over a study that this account runs."""
    run = ScoringRun.objects.select_related("study", "scorer", "created_by").filter(pk=run_id).first()
    if run is None or not study_of(user, run.study.slug).manages:
        raise NotFound
    return run
