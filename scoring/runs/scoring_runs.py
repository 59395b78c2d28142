"""Scoring runs: request, cancel, retry. The work itself is in `worker`, what all model runs share in `engine`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from annotation.models import Study, User
from scoring.metrics import registry
from scoring.models import ScoringRun
from scoring.runs import rows, validation
from scoring.runs.claims import SCORING


@transaction.atomic
def request(
    study: Study,
    metric: str,
    options: Mapping[str, Any],
    *,
    filter: Mapping[str, Any] | None = None,
    again: bool = False,
    actor: User | None,
    wake: bool = True,
) -> ScoringRun:
    """Record a run and wake a worker once this transaction has committed. Raises InvalidInput, and Conflict when the
    same run is under way already."""
    settings = validation.validate_options(study, metric, options)
    part = validation.validate_filter(study, filter or {}, reads=registry.entry(metric).reads)
    SCORING.lock_requests(study.pk)
    SCORING.refuse_duplicate(
        _same_runs(ScoringRun(study=study, metric=metric, options=settings, filter=part, again=again))
    )
    return create(study, metric, settings, filter=part, again=again, actor=actor, wake=wake)


@transaction.atomic
def create(
    study: Study,
    metric: str,
    options: Mapping[str, Any],
    *,
    filter: Mapping[str, Any],
    again: bool = False,
    actor: User | None,
    wake: bool = True,
) -> ScoringRun:
    """Record a run of what has been checked."""
    run = ScoringRun.objects.create(
        study=study, metric=metric, options=dict(options), filter=dict(filter), again=again, created_by=actor
    )
    SCORING.audit("requested", run, actor=actor, metric=metric, filter=run.filter, again=again)
    if wake:
        SCORING.wake_on_commit(run.pk)
    return run


@transaction.atomic
def create_or_join(
    study: Study, metric: str, options: Mapping[str, Any], *, actor: User | None
) -> ScoringRun:
    """Record a run over the whole study, unless one waits that will find what this transaction writes: while workers
    are behind, many imports need no more than one."""
    waiting = ScoringRun.objects.filter(
        study=study, metric=metric, options=dict(options), filter={}, again=False, scorer=None,
        state=ScoringRun.State.QUEUED,
    )  # fmt: skip
    run = next((each for each in waiting.order_by("pk") if rows.delay_row_creation(each)), None)
    if run is None:
        return create(study, metric, options, filter={}, actor=actor)
    SCORING.wake_on_commit(run.pk)
    return run


def cancel(run: ScoringRun, *, actor: User | None) -> ScoringRun:
    """Stop a run. What it has scored stays, and what is being scored at this moment may still be stored."""
    return SCORING.cancel(run, actor=actor)


@transaction.atomic
def retry(run: ScoringRun, *, actor: User | None) -> ScoringRun:
    """Retry what failed, and go on with a run that failed or was cancelled, unless another does the same by now."""
    SCORING.lock_requests(run.study_id)
    return SCORING.retry(run, actor=actor, same=_same_runs(run))


def _same_runs(run: ScoringRun) -> QuerySet[ScoringRun]:
    same = ScoringRun.objects.filter(
        study=run.study, metric=run.metric, options=run.options, filter=run.filter, again=run.again
    )
    return same.exclude(pk=run.pk)
