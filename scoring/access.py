"""The door from the numbers of runs, scorers, learned models and writers to what they name."""

from __future__ import annotations

from annotation.access import managed_study, study_of
from annotation.errors import NotFound
from annotation.models import Study, User
from scoring.models import LearnedModel, Scorer, ScoringRun, Writer, WritingRun


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


def learned_model_of(user: User, model_id: int) -> LearnedModel:
    """A version of a model of a study that this account runs."""
    models = LearnedModel.objects.select_related("study", "job", "scorer", "created_by")
    model = models.filter(pk=model_id).first()
    if model is None or not study_of(user, model.study.slug).manages:
        raise NotFound
    return model


def writer_of(user: User, slug: str, writer_id: int) -> Writer:
    """A writer of a study that this account runs."""
    study = managed_study(user, slug)
    writer = Writer.objects.select_related("study", "system").filter(study=study, pk=writer_id).first()
    if writer is None:
        raise NotFound
    return writer


def writing_run_of(user: User, run_id: int) -> WritingRun:
    """A writing run over a study that this account runs."""
    runs = WritingRun.objects.select_related("study", "writer__system", "created_by")
    run = runs.filter(pk=run_id).first()
    if run is None or not study_of(user, run.study.slug).manages:
        raise NotFound
    return run
