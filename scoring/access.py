"""The door from the numbers of scoring runs and scorers to what they name."""

from __future__ import annotations

from annotation.access import study_of
from annotation.errors import NotFound
from annotation.models import Study, User
from scoring.models import Scorer, ScoringRun


def run_of(user: User, run_id: int) -> ScoringRun:
    """A run over a study that this account runs."""
    run = ScoringRun.objects.select_related("study", "scorer", "created_by").filter(pk=run_id).first()
    if run is None or not study_of(user, run.study.slug).manages:
        raise NotFound
    return run


def scorer_of(study: Study, scorer_id: int) -> Scorer:
    """A scorer version that has had a run over this study, which the caller has been let to."""
    run = ScoringRun.objects.select_related("scorer").filter(study=study, scorer=scorer_id).first()
    if run is None or run.scorer is None:
        raise NotFound
    return run.scorer
