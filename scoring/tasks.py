"""Celery's way in: look up, call one service. Each is safe to run twice."""

from __future__ import annotations

from celery import shared_task


# A run that is not taken up at once is woken again by the sweep: messages need not pile up.
@shared_task(expires=15)  # type: ignore[untyped-decorator]
def work_on_run(run_id: int) -> None:
    """Work on a run for a while, then queue behind the other runs."""


@shared_task(expires=10)  # type: ignore[untyped-decorator]
def wake_scoring_runs() -> None:
    """Wake runs that have work and, perhaps, nobody at it."""
