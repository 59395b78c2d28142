"""Celery's way in: look up, call one service. Each is safe to run twice."""

from __future__ import annotations

import uuid

from celery import shared_task

from annotation.services import (
    cases,
    flag_sweeps,
    import_staging,
    jobs,
    kept_answers,
    leases,
    rater_withdrawals,
    returns,
    stopping,
    webhook_sending,
)
from annotation.worker_end import is_stopping


@shared_task  # type: ignore[untyped-decorator]
def run_job(job_id: str) -> None:
    jobs.run(uuid.UUID(job_id), stopping=is_stopping)


@shared_task(expires=30)  # type: ignore[untyped-decorator]
def wake_stale_jobs() -> None:
    rater_withdrawals.resume()
    jobs.wake_stale()
    import_staging.discard_finished()


@shared_task(expires=30)  # type: ignore[untyped-decorator]
def expire_leases() -> None:
    while leases.expire_due(limit=1000) == 1000:
        pass


@shared_task(expires=60)  # type: ignore[untyped-decorator]
def expire_claims() -> None:
    while cases.expire_claims(limit=1000) == 1000:
        pass


@shared_task(expires=60)  # type: ignore[untyped-decorator]
def sweep_flags() -> None:
    flag_sweeps.sweep()


@shared_task(expires=30)  # type: ignore[untyped-decorator]
def settle_returns() -> None:
    returns.settle()


@shared_task(expires=10)  # type: ignore[untyped-decorator]
def sweep_stopping() -> None:
    stopping.sweep()


@shared_task(expires=3600)  # type: ignore[untyped-decorator]
def forget_kept_answers() -> None:
    while kept_answers.forget_old():
        pass


@shared_task(expires=10)  # type: ignore[untyped-decorator]
def sweep_webhooks() -> None:
    webhook_sending.sweep()
