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
    """`work.work_on`, which puts its rows down when the process is to end and the model is still computing."""

    def put_down(claimant: Claimant) -> None:
        claims.give_back(run_id, claimant.number)
        ScoringRun.objects.filter(pk=run_id).update(n_openings=0)

    return watched(
        lambda claimant: work.work_on(run_id, stopping=stopping, claimant=claimant),
        put_down=put_down,
        stopping=stopping,
    )


def watched(
    working: Callable[[Claimant], bool],
    *,
    put_down: Callable[[Claimant], None],
    stopping: Callable[[], bool],
) -> bool:
    """What `working` returns. A thread watches it, and puts down what is in hand when the process is to end and the
    work has not: nobody knows how long a model will take."""
    claimant, over = Claimant(), threading.Event()

    def watch() -> None:
        while not over.wait(LOOK_SECONDS):
            if stopping():
                if not over.wait(GRACE_SECONDS):
                    try:
                        put_down(claimant)
                    finally:
                        connection.close()
                return

    watcher = threading.Thread(target=watch, name="stop watch", daemon=True)
    watcher.start()
    try:
        return working(claimant)
    finally:
        over.set()
        watcher.join()
