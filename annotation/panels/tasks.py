"""Celery tasks of panels. Each calls one service and is safe to run twice."""

from __future__ import annotations

from celery import shared_task

from annotation.panels import places


@shared_task(name="annotation.tasks.reclaim_places", expires=30)  # type: ignore[untyped-decorator]
def reclaim_places() -> None:
    while places.reclaim_due() == 1000:
        pass
