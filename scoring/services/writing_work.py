"""Working on writing runs: whatever is wanted most is written next, until nothing is left or the time is up.

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
from scoring.services import locks, writing_claims, writing_opened, writing_publishing, writing_results
from scoring.services.claims import MAX_ATTEMPTS
from scoring.services.locks import WRITING_GATE, Claimant
from scoring.services.patience import patiently
from scoring.services.work import SLICE_PER_OPENING, SLICE_SECONDS, unforeseen
from scoring.services.writing_requests import load
from scoring.writing.contract import Text, Writer
from scoring.writing.each import write_each

# While every writer waits for its time, new drafts are looked for so often.
LOOK_SECONDS = 0.5
# Runs whose model this process is loading.
_opening: set[int] = set()
_log = logging.getLogger(__name__)


def work(
    *,
    seconds: float | None = None,
    only: int | None = None,
    stopping: Callable[[], bool] = lambda: False,
    claimant: Claimant | None = None,
) -> bool:
    """Write for a while; `only` for this run. True when there was more to do at the end; False when nothing is left to
    take, or somebody else is loading the model for it."""
    if seconds is None:
        seconds = max(SLICE_SECONDS, SLICE_PER_OPENING * writing_opened.seconds_to_open())
    worker = _Worker(claimant or Claimant(), stopping, only)
    return worker.work(until=time.monotonic() + seconds)


def put_down(claimant: Claimant) -> None:
    """Leave everything to others because this process is to end, also while its work goes on in another thread: what
    it had in hand, and the model that it has not loaded, did not kill it."""
    writing_claims.give_back(claimant.number)
    WritingRun.objects.filter(pk__in=list(_opening)).update(n_openings=0)


class _Worker:
    """One process. `passed`: runs that this worker cannot help now, since somebody else is loading their model."""

    def __init__(self, claimant: Claimant, stopping: Callable[[], bool], only: int | None) -> None:
        self.claimant, self.stopping, self.only = claimant, stopping, only
        self.passed: set[int] = set()
        self.open_writer: int | None = None

    def work(self, *, until: float) -> bool:
        self.claimant.hold()
        try:
            while time.monotonic() < until and not self.stopping():
                run_id = patiently(self._next, again=self.claimant.hold)
                if run_id is not None:
                    self._turn(run_id)
                elif (wait := writing_claims.seconds_to_wait(only=self.only, passed=self.passed)) is None:
                    return False
                else:
                    time.sleep(min(wait, LOOK_SECONDS))
            return True
        finally:
            self._put_down()

    def _next(self) -> int | None:
        return writing_claims.next_run(open_writer=self.open_writer, only=self.only, passed=self.passed)

    def _turn(self, run_id: int) -> None:
        """One batch of one run, or some of what it has to publish."""
        run = WritingRun.objects.select_related("study", "writer", "created_by").get(pk=run_id)
        # First: what is written can be published whether or not its model opens again.
        n_done = writing_publishing.publish_some(run)
        if not run.is_finished:
            n_done += self._go_on(run)
        if not n_done:
            # Others are at what is left, or were quicker.
            self.passed.add(run.pk)

    def _go_on(self, run: WritingRun) -> int:
        unwritten = run.rows.filter(state__in=(WritingRow.State.WAITING, WritingRow.State.CLAIMED)).exists()
        writer = self._writer_of(run) if unwritten else None
        if (unwritten and writer is None) or not writing_claims.begin(run.pk):
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
            writing_results.fail_worn_out(run, self.claimant)
            return writing_claims.take(run, self.claimant, at_once=writer.at_once)

        rows = patiently(step, again=self.claimant.hold)
        if not rows:
            return 0
        requests, faults = load(run, rows)
        outcomes: dict[int, Text | ExampleError] = dict(faults)
        try:
            outcomes |= write_each(writer, requests)
        except SetupError as error:
            writing_results.fail(run, str(error))
            writing_claims.give_back(self.claimant.number)
            return len(rows)
        patiently(
            lambda: writing_results.store(run, self.claimant.number, outcomes), again=self.claimant.hold
        )
        return len(rows)

    def _open(self, run: WritingRun) -> Writer | None:
        assert run.writer is not None
        if writing_opened.is_open(run.writer):
            return self._of_one_version(run, writing_opened.opened(run.writer))
        with locks.gate(run.pk, of=WRITING_GATE) as mine:
            writer = _load(run) if mine else None
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
        writing_results.fail(
            run,
            f"This run began with another version of the writer: {', '.join(changed)} changed since. What it has "
            "written stays; start a new run for the rest.",
        )
        return None

    def _put_down(self) -> None:
        """Leave nothing in hand, whatever ends the work. Should the database not answer, the lock is gone as well, and
        the rows are free by that."""
        try:
            writing_claims.give_back(self.claimant.number)
        except Exception:
            _log.warning("Rows in hand could not be given back; they are free for others", exc_info=True)
        self.claimant.let_go()


def _load(run: WritingRun) -> Writer | None:
    """Behind the gate, so that whoever began to load before and did not come back is dead."""
    assert run.writer is not None
    this = WritingRun.objects.filter(pk=run.pk)
    if this.filter(n_openings__gte=MAX_ATTEMPTS).exists():
        _give_up(
            run,
            f"The worker died {MAX_ATTEMPTS} times while it loaded the model. Most likely it does not fit into this "
            "machine's memory: choose a smaller one, or a server that has it (the backbone's address).",
        )
        return None
    this.update(n_openings=F("n_openings") + 1)
    _opening.add(run.pk)
    try:
        return writing_opened.opened(run.writer)
    except (SetupError, OptionError) as error:
        _give_up(run, str(error))
    except Exception as error:
        _log.exception("The model of writing run %s could not be loaded", run.pk)
        _give_up(run, unforeseen(error))
    finally:
        patiently(lambda: this.update(n_openings=0))
        _opening.discard(run.pk)
    return None


def _give_up(run: WritingRun, message: str) -> None:
    """End a run that cannot begin here, unless somebody is at it: another machine has what this one lacks."""
    if writing_claims.somebody_is_at(run.pk):
        _log.warning("Writing run %s is left to other workers: %s", run.pk, message)
    else:
        writing_results.fail(run, message)
