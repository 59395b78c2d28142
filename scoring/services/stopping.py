"""A worker that is asked to end. What it cannot finish in time goes back, and does not count as a death."""

from __future__ import annotations

import threading
from collections.abc import Callable

from django.db import connection

from scoring.models import ScoringRun
from scoring.services import claims, work
from scoring.services.locks import Claimant

LOOK_SECONDS = 0.5
# To finish the batch at hand. Supervisors kill what is still there after eight seconds, or more.
GRACE_SECONDS = 4.0


def work_until_stopped(run_id: int, *, stopping: Callable[[], bool]) -> bool:
    """`work.work_on`, watched by a thread that puts the rows down when the process is to end and the model is still
    computing: nobody knows how long it will."""
    claimant, over = Claimant(), threading.Event()

    def watch() -> None:
        while not over.wait(LOOK_SECONDS):
            if stopping():
                if not over.wait(GRACE_SECONDS):
                    _put_down(run_id, claimant)
                return

    watcher = threading.Thread(target=watch, name=f"stop watch of scoring run {run_id}", daemon=True)
    watcher.start()
    try:
        return work.work_on(run_id, stopping=stopping, claimant=claimant)
    finally:
        over.set()
        watcher.join()


def _put_down(run_id: int, claimant: Claimant) -> None:
    try:
        claims.give_back(run_id, claimant.number)
        ScoringRun.objects.filter(pk=run_id).update(n_openings=0)
    finally:
        connection.close()
