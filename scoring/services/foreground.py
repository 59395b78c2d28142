"""Working on a run in the process that asked for it."""

from __future__ import annotations

import time

from scoring.models import ScoringRun, WritingRun
from scoring.services import claims, locks, work, writing_claims, writing_work
from scoring.services.locks import WRITING_GATE

_LOOK_SECONDS = 0.5


def run_here(run: ScoringRun) -> None:
    """Do a run's work in this process, unless a worker was quicker, and wait for its end either way. Should that worker
    die, this process goes on with what it left."""
    while not run.is_finished:
        with locks.gate(run.pk) as mine:
            # Kept to the end: a worker of this machine would load the model a second time.
            if mine and not claims.somebody_is_at(run.pk):
                work.work_on(run.pk, seconds=float("inf"))
        run.refresh_from_db()
        if not run.is_finished:
            time.sleep(_LOOK_SECONDS)
            run.refresh_from_db()


def write_here(run: WritingRun) -> None:
    """The same for a writing run, or for what of a halted one is to be published. Its pace is kept all the same."""
    while run.publishing or not run.is_finished:
        with locks.gate(run.pk, of=WRITING_GATE) as mine:
            if mine and not writing_claims.somebody_is_at(run.pk):
                writing_work.work(only=run.pk, seconds=float("inf"))
        run.refresh_from_db()
        if run.publishing or not run.is_finished:
            time.sleep(_LOOK_SECONDS)
            run.refresh_from_db()
