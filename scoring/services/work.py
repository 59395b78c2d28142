"""Working on a run: rows are taken in batches, scored and stored, until none is left or the time is up.

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

from scoring.metrics.batching import score_each
from scoring.metrics.contract import Metric, Outcome, SetupError
from scoring.metrics.registry import OptionError
from scoring.models import Scorer, ScoringRun
from scoring.services import claims, examples, locks, opened, results, rows
from scoring.services.claims import MAX_ATTEMPTS, Claimed
from scoring.services.locks import Claimant
from scoring.services.patience import patiently

# After so long a worker queues behind the other runs; later where they want other models, so that it spends no more
# than a small share of its time on loading one after the other.
SLICE_SECONDS = 40.0
SLICE_PER_OPENING = 10.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Batch:
    claimed: Claimed
    loaded: examples.Loaded


def work_on(
    run_id: int,
    *,
    seconds: float | None = None,
    stopping: Callable[[], bool] = lambda: False,
    claimant: Claimant | None = None,
) -> bool:
    """Work on a run for a while, `seconds` where given. True when there was more to do at the end; False when nothing
    is left to take, the run is over, or somebody else is loading its model."""
    run = (
        ScoringRun.objects.select_related("study", "scorer")
        .filter(pk=run_id, state__in=ScoringRun.UNFINISHED)
        .first()
    )
    if run is not None:
        while patiently(lambda: claims.put_back(run_id)):
            if stopping():
                return True
    metric = _open(run) if run else None
    if run is None or metric is None:
        return False
    scorer = opened.scorer_of(run.metric, metric.identity)
    if run.scorer_id is None and not rows.prepare(run, scorer):
        return False
    if run.scorer_id != scorer.pk:
        _refuse_another_version(run, scorer)
        return False
    if not claims.begin(run):
        return False
    if seconds is None:
        seconds = max(SLICE_SECONDS, SLICE_PER_OPENING * opened.seconds_to_open())
    worker = _Worker(run, metric, claimant or Claimant(), stopping)
    return worker.work(until=time.monotonic() + seconds)


class _Worker:
    """One process at one run, with at most two batches in hand: one is scored, the next is made ready meanwhile."""

    def __init__(
        self, run: ScoringRun, metric: Metric, claimant: Claimant, stopping: Callable[[], bool]
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
            fail(self.run, str(error))
            return False
        finally:
            self._put_down()

    def _take(self, *, hands_free: bool) -> _Batch | None:
        def step() -> _Batch | None:
            taken = claims.take(self.run, self.claimant, self.metric.limits, hands_free=hands_free)
            return None if taken is None else _Batch(taken, examples.load(self.run, taken.rows))

        batch = patiently(step, again=self.claimant.hold)
        if batch is not None:
            self.metric.prepare(batch.loaded.examples)
        return batch

    def _score(self, batch: _Batch) -> None:
        ours = set(patiently(lambda: claims.renew(batch.claimed, self.claimant), again=self.claimant.hold))
        loaded = batch.loaded
        outcomes: list[Outcome] = [*loaded.faults]
        outcomes += score_each(self.metric, [example for example in loaded.examples if example.key in ours])
        patiently(
            lambda: results.store(self.run, self.claimant.number, outcomes, scored_elsewhere=loaded.scored),
            again=self.claimant.hold,
        )

    def _put_down(self) -> None:
        """Leave nothing in hand, whatever ends the work. Should the database not answer, the lock is gone as well, and
        the rows are free by that."""
        try:
            claims.give_back(self.run.pk, self.claimant.number)
        except Exception:
            _log.warning("Rows in hand could not be given back; they are free for others", exc_info=True)
        self.claimant.let_go()


def fail(run: ScoringRun, message: str) -> None:
    """End a run that cannot go on, with a sentence for whoever asked for it."""
    with transaction.atomic():
        failed = ScoringRun.objects.filter(pk=run.pk, state__in=ScoringRun.UNFINISHED).update(
            state=ScoringRun.State.FAILED, finished_at=timezone.now(), message=results.storable(message),
            n_openings=0,
        )  # fmt: skip
        if failed:
            claims.record_end(run.pk)


def _give_up(run: ScoringRun, message: str) -> None:
    """End a run that cannot begin here, unless somebody is at it: another machine has what this one lacks."""
    if claims.somebody_is_at(run.pk):
        _log.warning("Scoring run %s is left to other workers: %s", run.pk, message)
    else:
        fail(run, message)


def _open(run: ScoringRun) -> Metric | None:
    """The run's metric; None when it cannot be opened, which ends the run, or when somebody else is opening it."""
    if opened.is_open(run.metric, run.options):
        return opened.opened(run.metric, run.options)
    with locks.gate(run.pk) as mine:
        return _load(run) if mine else None


def _load(run: ScoringRun) -> Metric | None:
    """Behind the gate, so that whoever began to load before and did not come back is dead."""
    this = ScoringRun.objects.filter(pk=run.pk)
    if this.filter(n_openings__gte=MAX_ATTEMPTS).exists():
        _give_up(
            run,
            f"The worker died {MAX_ATTEMPTS} times while it loaded the model. Most likely it does not fit into this "
            "machine's memory: choose a smaller one, or a server that has it (the backbone's address).",
        )
        return None
    this.update(n_openings=F("n_openings") + 1)
    try:
        return opened.opened(run.metric, run.options)
    except (SetupError, OptionError) as error:
        _give_up(run, str(error))
    except Exception as error:
        _log.exception("The model of scoring run %s could not be loaded", run.pk)
        _give_up(run, unforeseen(error))
    finally:
        patiently(lambda: this.update(n_openings=0))
    return None


def unforeseen(error: Exception) -> str:
    """What to tell of a model that could not be loaded for a reason nobody foresaw."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return (
            "The model does not fit into the memory of the device. Choose a smaller one, or a larger device."
        )
    return (
        f"The model could not be loaded ({type(error).__name__}: {error})."[:1000]
        + " The worker's log says more."
    )


def _refuse_another_version(run: ScoringRun, scorer: Scorer) -> None:
    """A run is one version of a scorer: half of its scores by another would not be comparable."""
    assert run.scorer is not None
    before, now = run.scorer.config, scorer.config
    changed = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    _give_up(
        run,
        f"This run began with another version of the scorer: {', '.join(changed)} changed since. What it has scored "
        "stays; start a new run, which scores everything with the version at hand.",
    )
