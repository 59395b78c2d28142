"""The Celery worker, as every `celery -A config.celery worker` starts it."""

from __future__ import annotations

from typing import Any

from celery import bootsteps
from celery.apps import worker
from celery.beat import EmbeddedService


class Worker(worker.Worker):  # type: ignore[misc]  # celery has no types
    """Tells other workers nothing, for none of them listens. Each such message was an error in PostgreSQL's log: pgmq
    has topics only where it is an extension."""

    def prepare_args(self, **options: Any) -> dict[str, Any]:
        quiet = {"without_gossip": True, "without_mingle": True, "without_heartbeat": True}
        prepared: dict[str, Any] = super().prepare_args(**options | quiet)
        return prepared


class BeatThread(bootsteps.StartStopStep):  # type: ignore[misc]
    """Beat within a worker: on one machine it needs no process of its own. It sends messages, and runs nothing."""

    requires = ("celery.worker.components:Pool",)

    def create(self, parent: Any) -> Any:
        return EmbeddedService(parent.app, thread=True, max_interval=1)
