"""The scoring worker: claim batches of rows, score them, store the results, until none is left or the time is up.

No transaction is open while a model computes. Any number of workers may be at one run; each may die at any moment.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from scoring.metrics.batching import score_batch
from scoring.metrics.contract import Metric, Outcome, SetupError
from scoring.metrics.registry import OptionError
from scoring.models import Scorer, ScoringRun
from scoring.runs import claims, liveness, loaded_metric, results, rows
from scoring.runs.claims import MAX_ATTEMPTS, ClaimedBatch
from scoring.runs.liveness import (
    LeaseHolder,
    retry_on_lost_connection,
    run_with_graceful_stop,
)

# After so long a worker queues behind the other runs; later where they want other models, so that it spends no more
# than a small share of its time on loading one after the other.
SLICE_SECONDS = 40.0
SLICE_PER_LOADING_SECOND = 10.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Batch:
    claimed: ClaimedBatch
    loaded: rows.LoadedExamples


def work_on_run(
    run_id: int,
    *,
    seconds: float | None = None,
    stopping: Callable[[], bool] = lambda: False,
    claimant: LeaseHolder | None = None,
) -> bool:
    """Work on a run for a while, `seconds` where given. True when there was more to do at the end; False when nothing
    is left to take, the run is over, or somebody else is loading its model."""
    run = (
        ScoringRun.objects.select_related("study", "scorer")
        .filter(pk=run_id, state__in=ScoringRun.UNFINISHED)
        .first()
    )
    if run is not None:
        while retry_on_lost_connection(lambda: claims.requeue_failed(run_id)):
            if stopping():
                return True
    metric = _metric_of(run) if run else None
    if run is None or metric is None:
        return False
    scorer = loaded_metric.scorer_version(run.metric, metric.identity)
    if run.scorer_id is None and not rows.create_rows(run, scorer):
        return False
    if run.scorer_id != scorer.pk:
        _fail_on_version_change(run, scorer)
        return False
    if not claims.begin_run(run):
        return False
    if seconds is None:
        seconds = max(SLICE_SECONDS, SLICE_PER_LOADING_SECOND * loaded_metric.loading_seconds())
    worker = _Worker(run, metric, claimant or LeaseHolder(), stopping)
    return worker.work(until=time.monotonic() + seconds)


class _Worker:
    """One process at one run, with at most two batches in hand: one is scored, the next is made ready meanwhile."""

    def __init__(
        self, run: ScoringRun, metric: Metric, claimant: LeaseHolder, stopping: Callable[[], bool]
    ) -> None:
        self.run, self.metric, self.claimant, self.stopping = run, metric, claimant, stopping

    def work(self, *, until: float) -> bool:
        def goes_on() -> bool:
            return time.monotonic() < until and not self.stopping()

        self.claimant.hold()
        try:
            batch = self._take(hands_free=True)
            while batch is not None:
                following = None
                if goes_on() and not batch.claimed.alone:
                    following = self._take(hands_free=False)
                self._score(batch)
                if self.stopping():
                    return True
                if following is None and goes_on():
                    following = self._take(hands_free=True)
                elif following is None:
                    return True
                batch = following
            return False
        except SetupError as error:
            fail_run(self.run, str(error))
            return False
        finally:
            self._put_down()

    def _take(self, *, hands_free: bool) -> _Batch | None:
        def step() -> _Batch | None:
            taken = claims.claim_batch(self.run, self.claimant, self.metric.limits, hands_free=hands_free)
            return None if taken is None else _Batch(taken, rows.load_examples(self.run, taken.rows))

        batch = retry_on_lost_connection(step, again=self.claimant.hold)
        if batch is not None:
            self.metric.prepare(batch.loaded.examples)
        return batch

    def _score(self, batch: _Batch) -> None:
        ours = set(
            retry_on_lost_connection(
                lambda: claims.renew_lease(batch.claimed, self.claimant), again=self.claimant.hold
            )
        )
        loaded = batch.loaded
        outcomes: list[Outcome] = [*loaded.faults]
        outcomes += score_batch(self.metric, [example for example in loaded.examples if example.key in ours])
        retry_on_lost_connection(
            lambda: results.store_outcomes(
                self.run, self.claimant.number, outcomes, scored_elsewhere=loaded.scored
            ),
            again=self.claimant.hold,
        )

    def _put_down(self) -> None:
        """Leave nothing in hand, whatever ends the work. Should the database not answer, the lock is gone as well, and
        the rows are free by that."""
        try:
            claims.release_claims(self.run.pk, self.claimant.number)
        except Exception:
            _log.warning("Rows in hand could not be given back; they are free for others", exc_info=True)
        self.claimant.let_go()


def fail_run(run: ScoringRun, message: str) -> None:
    """End a run that cannot go on, with a sentence for whoever asked for it."""
    with transaction.atomic():
        failed = ScoringRun.objects.filter(pk=run.pk, state__in=ScoringRun.UNFINISHED).update(
            state=ScoringRun.State.FAILED, finished_at=timezone.now(), message=results.sanitize_text(message),
            n_openings=0,
        )  # fmt: skip
        if failed:
            claims.audit_run_end(run.pk)


def _fail_unless_others_work(run: ScoringRun, message: str) -> None:
    """End a run that cannot begin here, unless somebody is at it: another machine has what this one lacks."""
    if claims.has_live_worker(run.pk):
        _log.warning("Scoring run %s is left to other workers: %s", run.pk, message)
    else:
        fail_run(run, message)


def _metric_of(run: ScoringRun) -> Metric | None:
    """The run's metric; None when it cannot be opened, which ends the run, or when somebody else is opening it."""
    if loaded_metric.is_loaded(run.metric, run.options):
        return loaded_metric.load(run.metric, run.options)
    with liveness.model_loading_lock(run.pk) as mine:
        return _load_metric(run) if mine else None


def _load_metric(run: ScoringRun) -> Metric | None:
    """Behind the gate, so that whoever began to load before and did not come back is dead."""
    this = ScoringRun.objects.filter(pk=run.pk)
    if this.filter(n_openings__gte=MAX_ATTEMPTS).exists():
        _fail_unless_others_work(
            run,
            f"The worker died {MAX_ATTEMPTS} times while it loaded the model. Most likely it does not fit into this "
            "machine's memory: choose a smaller one, or a server that has it (the backbone's address).",
        )
        return None
    this.update(n_openings=F("n_openings") + 1)
    try:
        return loaded_metric.load(run.metric, run.options)
    except (SetupError, OptionError) as error:
        _fail_unless_others_work(run, str(error))
    except Exception as error:
        _log.exception("The model of scoring run %s could not be loaded", run.pk)
        _fail_unless_others_work(run, loading_error_message(error))
    finally:
        retry_on_lost_connection(lambda: this.update(n_openings=0))
    return None


def loading_error_message(error: Exception) -> str:
    """What to tell of a model that could not be loaded for a reason nobody foresaw."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return (
            "The model does not fit into the memory of the device. Choose a smaller one, or a larger device."
        )
    return (
        f"The model could not be loaded ({type(error).__name__}: {error})."[:1000]
        + " The worker's log says more."
    )


def _fail_on_version_change(run: ScoringRun, scorer: Scorer) -> None:
    """A run is one version of a scorer: half of its scores by another would not be comparable."""
    assert run.scorer is not None
    before, now = run.scorer.config, scorer.config
    changed = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    _fail_unless_others_work(
        run,
        f"This run began with another version of the scorer: {', '.join(changed)} changed since. What it has scored "
        "stays; start a new run, which scores everything with the version at hand.",
    )


def work_until_stopped(run_id: int, *, stopping: Callable[[], bool]) -> bool:
    """`work.work_on`, which puts its rows down when the process is to end and the model is still computing."""

    def put_down(claimant: LeaseHolder) -> None:
        claims.release_claims(run_id, claimant.number)
        ScoringRun.objects.filter(pk=run_id).update(n_openings=0)

    return run_with_graceful_stop(
        lambda claimant: work_on_run(run_id, stopping=stopping, claimant=claimant),
        put_down=put_down,
        stopping=stopping,
    )


# Working on a run in the process that asked for it.


FOREGROUND_POLL_SECONDS = 0.5


def score_in_foreground(run: ScoringRun) -> None:
    """Do a run's work in this process, unless a worker was quicker, and wait for its end either way. Should that worker
    die, this process goes on with what it left."""
    while not run.is_finished:
        with liveness.model_loading_lock(run.pk) as mine:
            # Kept to the end: a worker of this machine would load the model a second time.
            if mine and not claims.has_live_worker(run.pk):
                work_on_run(run.pk, seconds=float("inf"))
        run.refresh_from_db()
        if not run.is_finished:
            time.sleep(FOREGROUND_POLL_SECONDS)
            run.refresh_from_db()
