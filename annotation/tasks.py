"""Celery's way in: look up, call one service. Each is safe to run twice."""

from __future__ import annotations

import uuid

from celery import shared_task

from annotation.services import cases, flag_sweeps, jobs, leases, returns, stopping


@shared_task  # type: ignore[untyped-decorator]
def run_job(job_id: str) -> None:
    jobs.run(uuid.UUID(job_id))


@shared_task(expires=30)  # type: ignore[untyped-decorator]
def wake_stale_jobs() -> None:
    jobs.wake_stale()


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
