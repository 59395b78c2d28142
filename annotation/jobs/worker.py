"""Graceful shutdown: whether this worker process was asked to stop."""

from __future__ import annotations

from celery.worker import state


def is_stopping() -> bool:
    """An exit status of 0 counts, too. In the worker's own process: those of a pool do not hear of it."""
    return any(
        asked is not None and asked is not False for asked in (state.should_stop, state.should_terminate)
    )
