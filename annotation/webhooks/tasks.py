"""Celery tasks of webhooks. Each calls one service and is safe to run twice."""

from __future__ import annotations

from celery import shared_task

from annotation.webhooks import delivery


@shared_task(name="annotation.tasks.sweep_webhooks", expires=10)  # type: ignore[untyped-decorator]
def sweep_webhooks() -> None:
    delivery.sweep()
