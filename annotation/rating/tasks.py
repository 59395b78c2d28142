"""Celery tasks of rating. Each calls one service and is safe to run twice."""

from __future__ import annotations

from celery import shared_task

from annotation.rating import leases, stopping


@shared_task(name="annotation.tasks.expire_leases", expires=30)  # type: ignore[untyped-decorator]
def expire_leases() -> None:
    while leases.expire_due(limit=1000) == 1000:
        pass


@shared_task(name="annotation.tasks.sweep_stopping", expires=10)  # type: ignore[untyped-decorator]
def sweep_stopping() -> None:
    stopping.sweep()
