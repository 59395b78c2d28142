"""Celery tasks of the API. Each calls one service and is safe to run twice."""

from __future__ import annotations

from celery import shared_task

from annotation.api import idempotency


@shared_task(name="annotation.tasks.forget_kept_answers", expires=3600)  # type: ignore[untyped-decorator]
def forget_kept_answers() -> None:
    while idempotency.delete_expired_responses():
        pass
