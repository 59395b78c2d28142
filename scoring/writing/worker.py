"""The writing worker: whatever is wanted most is written next, until nothing is left or the time is up.

No transaction is open while a model writes. Any number of workers may be at it; each may die at any moment.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from django.db.models import F

from scoring.metrics.contract import ExampleError, SetupError
from scoring.metrics.registry import OptionError
from scoring.models import WritingRow, WritingRun
from scoring.runs import liveness
from scoring.runs.claims import MAX_ATTEMPTS
from scoring.runs.liveness import WRITING_LOADING_LOCK, LeaseHolder, retry_on_lost_connection
from scoring.runs.worker import (
    FOREGROUND_POLL_SECONDS,
    SLICE_PER_LOADING_SECOND,
    SLICE_SECONDS,
    loading_error_message,
)
from scoring.writing import claims, loaded_writer, publishing, results
from scoring.writing.contract import Text, Writer, write_batch
from scoring.writing.rows import load_requests

# While every writer waits for its time, new drafts are looked for so often.
RATE_LIMIT_POLL_SECONDS = 0.5
# Runs whose model this process is loading.
_runs_being_loaded: set[int] = set()
_log = logging.getLogger(__name__)


def work_on_runs(
    *,
    seconds: float | None = None,
    only: int | None = None,
    stopping: Callable[[], bool] = lambda: False,
    claimant: LeaseHolder | None = None,
) -> bool:
    """Write for a while; `only` for this run. True when there was more to do at the end; False when nothing is left to
    take, or somebody else is loading the model for it."""
    if seconds is None:
        seconds = max(SLICE_SECONDS, SLICE_PER_LOADING_SECOND * loaded_writer.loading_seconds())
    worker = _Worker(claimant or LeaseHolder(), stopping, only)
    return worker.work(until=time.monotonic() + seconds)


def release_all(claimant: LeaseHolder) -> None:
    """Leave everything to others because this process is to end, also while its work goes on in another thread: what
    it had in hand, and the model that it has not loaded, did not kill it."""
    claims.release_claims(claimant.number)
    WritingRun.objects.filter(pk__in=list(_runs_being_loaded)).update(n_openings=0)


class _Worker:
    """One process. `passed`: runs that this worker cannot help now, since somebody else is loading their model."""

    def __init__(self, claimant: LeaseHolder, stopping: Callable[[], bool], only: int | None) -> None:
        self.claimant, self.stopping, self.only = claimant, stopping, only
        self.passed: set[int] = set()
        self.open_writer: int | None = None

    def work(self, *, until: float) -> bool:
        self.claimant.hold()
        try:
            while time.monotonic() < until and not self.stopping():
                run_id = retry_on_lost_connection(self._next, again=self.claimant.hold)
                if run_id is not None:
                    self._turn(run_id)
                elif (wait := claims.seconds_until_rate_limit(only=self.only, passed=self.passed)) is None:
                    return False
                else:
                    time.sleep(min(wait, RATE_LIMIT_POLL_SECONDS))
            return True
        finally:
            self._put_down()

    def _next(self) -> int | None:
        return claims.next_run(open_writer=self.open_writer, only=self.only, passed=self.passed)

    def _turn(self, run_id: int) -> None:
        """One batch of one run, or some of what it has to publish."""
        run = WritingRun.objects.select_related("study", "writer", "created_by").get(pk=run_id)
        # First: what is written can be published whether or not its model opens again.
        n_done = publishing.publish_some(run)
        if not run.is_finished:
            n_done += self._go_on(run)
        if not n_done:
            # Others are at what is left, or were quicker.
            self.passed.add(run.pk)

    def _go_on(self, run: WritingRun) -> int:
        unwritten = run.rows.filter(state__in=(WritingRow.State.WAITING, WritingRow.State.CLAIMED)).exists()
        writer = self._writer_of(run) if unwritten else None
        if (unwritten and writer is None) or not claims.begin_run(run.pk):
            return 0
        return self._write(run, writer) if writer is not None else 0

    def _writer_of(self, run: WritingRun) -> Writer | None:
        """None where there is none, or none that this worker may open: the run is over then, or left to others."""
        if run.writer is None:
            return None
        writer = self._open(run)
        if writer is None:
            self.passed.add(run.pk)
        else:
            self.open_writer = run.writer_id
        return writer

    def _write(self, run: WritingRun, writer: Writer) -> int:
        def step() -> list[int]:
            results.fail_repeatedly_failed(run, self.claimant)
            return claims.claim_batch(run, self.claimant, at_once=writer.at_once)

        rows = retry_on_lost_connection(step, again=self.claimant.hold)
        if not rows:
            return 0
        requests, faults = load_requests(run, rows)
        outcomes: dict[int, Text | ExampleError] = dict(faults)
        try:
            outcomes |= write_batch(writer, requests)
        except SetupError as error:
            results.fail_run(run, str(error))
            claims.release_claims(self.claimant.number)
            return len(rows)
        retry_on_lost_connection(
            lambda: results.store_texts(run, self.claimant.number, outcomes), again=self.claimant.hold
        )
        return len(rows)

    def _open(self, run: WritingRun) -> Writer | None:
        assert run.writer is not None
        if loaded_writer.is_loaded(run.writer):
            return self._of_one_version(run, loaded_writer.load(run.writer))
        with liveness.model_loading_lock(run.pk, of=WRITING_LOADING_LOCK) as mine:
            writer = _load_writer(run) if mine else None
        return None if writer is None else self._of_one_version(run, writer)

    def _of_one_version(self, run: WritingRun, writer: Writer) -> Writer | None:
        """A run is one version of a writer: the first that opens for it says which."""
        if not run.identity:
            WritingRun.objects.filter(pk=run.pk, identity={}).update(identity=dict(writer.identity))
            run.refresh_from_db(fields=["identity"])
        before, now = run.identity, dict(writer.identity)
        if before == now:
            return writer
        changed = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
        results.fail_run(
            run,
            f"This run began with another version of the writer: {', '.join(changed)} changed since. What it has "
            "written stays; start a new run for the rest.",
        )
        return None

    def _put_down(self) -> None:
        """Leave nothing in hand, whatever ends the work. Should the database not answer, the lock is gone as well, and
        the rows are free by that."""
        try:
            claims.release_claims(self.claimant.number)
        except Exception:
            _log.warning("Rows in hand could not be given back; they are free for others", exc_info=True)
        self.claimant.let_go()


def _load_writer(run: WritingRun) -> Writer | None:
    """Behind the gate, so that whoever began to load before and did not come back is dead."""
    assert run.writer is not None
    this = WritingRun.objects.filter(pk=run.pk)
    if this.filter(n_openings__gte=MAX_ATTEMPTS).exists():
        _fail_unless_others_work(
            run,
            f"The worker died {MAX_ATTEMPTS} times while it loaded the model. Most likely it does not fit into this "
            "machine's memory: choose a smaller one, or a server that has it (the backbone's address).",
        )
        return None
    this.update(n_openings=F("n_openings") + 1)
    _runs_being_loaded.add(run.pk)
    try:
        return loaded_writer.load(run.writer)
    except (SetupError, OptionError) as error:
        _fail_unless_others_work(run, str(error))
    except Exception as error:
        _log.exception("The model of writing run %s could not be loaded", run.pk)
        _fail_unless_others_work(run, loading_error_message(error))
    finally:
        retry_on_lost_connection(lambda: this.update(n_openings=0))
        _runs_being_loaded.discard(run.pk)
    return None


def _fail_unless_others_work(run: WritingRun, message: str) -> None:
    """End a run that cannot begin here, unless somebody is at it: another machine has what this one lacks."""
    if claims.has_live_worker(run.pk):
        _log.warning("Writing run %s is left to other workers: %s", run.pk, message)
    else:
        results.fail_run(run, message)


def write_in_foreground(run: WritingRun) -> None:
    """The same for a writing run, or for what of a halted one is to be published. Its pace is kept all the same."""
    while run.publishing or not run.is_finished:
        with liveness.model_loading_lock(run.pk, of=WRITING_LOADING_LOCK) as mine:
            if mine and not claims.has_live_worker(run.pk):
                work_on_runs(only=run.pk, seconds=float("inf"))
        run.refresh_from_db()
        if run.publishing or not run.is_finished:
            time.sleep(FOREGROUND_POLL_SECONDS)
            run.refresh_from_db()
