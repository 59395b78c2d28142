"""Celery's way in: look up, call one service. Each is safe to run twice."""

from __future__ import annotations

from celery import current_app, shared_task
from celery.worker import state
from kombu.exceptions import ChannelError, OperationalError

from scoring.services import waking
from scoring.services.stopping import work_until_stopped

QUEUE = "gpu"
MOST_WAITING = 50


# A message is good for a moment only: runs with work are woken by the sweep as long as they have any, and messages that
# nobody takes must not pile up into ever more workers at one run.
@shared_task(expires=15)  # type: ignore[untyped-decorator]
def work_on_run(run_id: int) -> None:
    """Work on a run for a while, then queue behind the other runs."""
    if work_until_stopped(run_id, stopping=_is_stopping) and not _is_stopping():
        work_on_run.delay(run_id)


@shared_task(expires=10)  # type: ignore[untyped-decorator]
def wake_scoring_runs() -> None:
    """Nothing while messages wait that nobody takes: those that expired are cleared away by workers only."""
    if (runs := waking.to_wake()) and _n_waiting() < MOST_WAITING:
        for run_id in runs:
            work_on_run.delay(run_id)


def _is_stopping() -> bool:
    """Whether this worker was asked to end; an exit status of 0 counts, too."""
    return any(
        asked is not None and asked is not False for asked in (state.should_stop, state.should_terminate)
    )


def _n_waiting() -> int:
    try:
        with current_app.connection_for_write() as connection:
            return int(connection.default_channel.queue_declare(queue=QUEUE, passive=True).message_count)
    except (ChannelError, OperationalError):
        return 0  # nobody has made the queue yet; or sending will say what is wrong
