"""Scoring runs: request, cancel, retry, progress. The work itself is in `worker`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from celery import current_app
from django.db import connection, transaction
from django.utils import timezone

from annotation.errors import Conflict
from annotation.models import Study, User
from annotation.studies import audit
from scoring.metrics import registry
from scoring.models import ScoringRun
from scoring.runs import claims, rows, validation

_REQUEST_LOCK = 7_303_020


@dataclass(frozen=True)
class RunProgress:
    """How far a run is. `per_second` counts what failed as well; None before the first rows are settled, and
    `seconds_left` where that cannot be told."""

    n_rows: int
    n_done: int
    n_failed: int
    per_second: float | None
    seconds_left: float | None


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
    wanted = validation.validate_options(study, metric, options)
    part = validation.validate_filter(study, filter or {}, reads=registry.entry(metric).reads)
    _lock_requests(study)
    _refuse_duplicate(ScoringRun(study=study, metric=metric, options=wanted, filter=part, again=again))
    return create(study, metric, wanted, filter=part, again=again, actor=actor, wake=wake)


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
    audit.record(
        "scoring.requested", actor=actor, study=study, subject=f"scoring run {run.pk}", metric=metric,
        filter=run.filter, again=again,
    )  # fmt: skip
    if wake:
        transaction.on_commit(lambda: _wake_worker(run.pk), robust=True)
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
    transaction.on_commit(lambda: _wake_worker(run.pk), robust=True)
    return run


@transaction.atomic
def cancel(run: ScoringRun, *, actor: User | None) -> ScoringRun:
    """Stop a run. What it has scored stays, and what is being scored at this moment may still be kept."""
    stopped = ScoringRun.objects.filter(pk=run.pk, state__in=ScoringRun.UNFINISHED).update(
        state=ScoringRun.State.CANCELLED, finished_at=timezone.now(), message="Cancelled."
    )
    if not stopped:
        raise Conflict("This run has finished already.", code="finished")
    audit.record("scoring.cancelled", actor=actor, study=run.study, subject=f"scoring run {run.pk}")
    run.refresh_from_db()
    return run


@transaction.atomic
def retry(run: ScoringRun, *, actor: User | None) -> ScoringRun:
    """Try what failed once more, and go on with a run that failed or was cancelled. The first of what failed waits
    again at once; a worker puts back the rest, which may be very many, before it begins."""
    _lock_requests(run.study)
    run = (
        ScoringRun.objects.select_related("study").select_for_update(of=("self",), no_key=True).get(pk=run.pk)
    )
    halted = run.state in (ScoringRun.State.FAILED, ScoringRun.State.CANCELLED)
    if not (halted or run.n_failed):
        raise Conflict("Nothing failed in this run, so there is nothing to try again.", code="nothing_failed")
    if run.is_finished:
        _refuse_duplicate(run)
    ScoringRun.objects.filter(pk=run.pk).update(
        state=ScoringRun.State.QUEUED, message="", finished_at=None,
        working_since=None, worked_at=timezone.now(), n_openings=0,
    )  # fmt: skip
    audit.record(
        "scoring.retried", actor=actor, study=run.study, subject=f"scoring run {run.pk}", rows=run.n_failed
    )
    claims.requeue_failed(run.pk)
    transaction.on_commit(lambda: _wake_worker(run.pk), robust=True)
    run.refresh_from_db()
    return run


def waiting_since(run: ScoringRun) -> datetime | None:
    """When a run that no worker has taken up was asked for, for the last time; None when it is not waiting."""
    return (run.worked_at or run.created_at) if run.state == ScoringRun.State.QUEUED else None


def is_loading(run: ScoringRun) -> bool:
    """Whether a worker has begun to load the run's model and has not come back: it loads still, or died of it."""
    return run.n_openings > 0 and not run.is_finished


def progress(run: ScoringRun) -> RunProgress:
    """Reckoned from the run's own counters: no row is looked at."""
    settled = run.n_settled - run.n_settled_before
    left = run.n_rows - run.n_settled
    per_second = seconds_left = None
    if run.working_since is not None and run.worked_at is not None and settled > 0:
        elapsed = ((run.finished_at or run.worked_at) - run.working_since).total_seconds()
        per_second = settled / max(elapsed, 1e-3)
    if per_second and not run.is_finished:
        waited = (timezone.now() - run.worked_at).total_seconds() if run.worked_at else 0.0
        seconds_left = max(left / per_second - waited, 0.0)
    return RunProgress(run.n_rows, run.n_done, run.n_failed, per_second, seconds_left)


def _lock_requests(study: Study) -> None:
    """Until this transaction ends: of two that ask for the same run at once, the second finds the first's."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_REQUEST_LOCK, study.pk])


def _refuse_duplicate(wanted: ScoringRun) -> None:
    same = ScoringRun.objects.filter(
        study=wanted.study, metric=wanted.metric, options=wanted.options, filter=wanted.filter,
        again=wanted.again, state__in=ScoringRun.UNFINISHED,
    )  # fmt: skip
    if (first := same.exclude(pk=wanted.pk).order_by("pk").first()) is not None:
        raise Conflict(
            f"Run {first.pk} of this study does the same and has not finished. Wait for it, or cancel it first.",
            code="already_under_way",
        )


def _wake_worker(run_id: int) -> None:
    """Sent by the task's name: its module imports this one."""
    current_app.send_task("scoring.tasks.work_on_run", [run_id], expires=15)
