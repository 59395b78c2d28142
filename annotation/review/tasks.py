"""Celery's way in: look up, call one service. Each is safe to run twice."""

from __future__ import annotations

from celery import shared_task

from annotation.review import cases, flagging, returns


@shared_task(name="annotation.tasks.expire_claims", expires=60)  # type: ignore[untyped-decorator]
def expire_claims() -> None:
    while cases.expire_claims(limit=1000) == 1000:
        pass


@shared_task(name="annotation.tasks.sweep_flags", expires=60)  # type: ignore[untyped-decorator]
def sweep_flags() -> None:
    flagging.sweep_studies()


@shared_task(name="annotation.tasks.settle_returns", expires=30)  # type: ignore[untyped-decorator]
def settle_returns() -> None:
    returns.close_fulfilled()
