"""Workers at a scoring run, living and dead."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import connection

from scoring.models import ScoringRow, ScoringRun
from scoring.runs import claims, loaded_metric, rows, scoring_runs
from scoring.runs.claims import SCORING
from scoring.runs.liveness import LeaseHolder
from tests.scoring.doubles import WordCount
from tests.scoring.studies import study_of

WAITING, CLAIMED, DONE, FAILED = ScoringRow.State.values
Use = Callable[[WordCount], WordCount]


def requested(n: int, **asked) -> ScoringRun:
    return scoring_runs.request(
        study_of([f"word {'more ' * k}" for k in range(n)]), "word-count", {}, actor=None, **asked
    )


def prepared(n: int) -> ScoringRun:
    """A run with its rows, at which nobody has worked."""
    run = requested(n)
    metric = WordCount()
    assert rows.create_rows(run, loaded_metric.scorer_version("word-count", metric.identity))
    assert SCORING.begin_run(run.pk)
    run.refresh_from_db()
    return run


class Process:
    """Something done on a connection of its own, which then ends as a killed process's does."""

    def __init__(self, call: Callable[[], object]) -> None:
        self.call, self.failures, self.backend = call, [], 0
        self.thread = threading.Thread(target=self._do)
        self.thread.start()

    def _do(self) -> None:
        try:
            connection.ensure_connection()
            self.backend = connection.connection.info.backend_pid
            self.call()
        except BaseException as error:
            self.failures.append(error)
        finally:
            connection.close()

    def await_end(self) -> None:
        self.thread.join(30)
        assert self.failures == []
        await_end_of(self.backend)


def elsewhere(call: Callable[[], object]) -> None:
    Process(call).await_end()


def await_end_of(backend: int) -> None:
    """The server notices a closed connection a moment later, and gives up its locks then.

    A transaction keeps what it first read of the server's activity: it is told to look again.
    """
    with connection.cursor() as cursor:
        for _ in range(1000):
            cursor.execute("SELECT pg_stat_clear_snapshot()")
            cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE pid = %s", [backend])
            if cursor.fetchone()[0] == 0:
                return
            threading.Event().wait(0.01)
    raise AssertionError("the connection did not end")


def take_and_die(run: ScoringRun, *, allow_single: bool = True, limit: int = 4) -> list[int]:
    taken: list[int] = []

    def worker() -> None:
        holder = LeaseHolder()
        holder.hold()
        batch = claims.claim_batch(run, holder, WordCount(limit=limit).limits, allow_single=allow_single)
        taken.extend(batch.rows if batch else ())

    elsewhere(worker)
    return taken


@contextmanager
def living(run: ScoringRun) -> Iterator[list[int]]:
    """A worker that has rows in hand and is at them as long as the block lasts."""
    taken: list[int] = []
    has_taken, may_go = threading.Event(), threading.Event()

    def worker() -> None:
        holder = LeaseHolder()
        holder.hold()
        batch = claims.claim_batch(run, holder, WordCount().limits, allow_single=True)
        taken.extend(batch.rows if batch else ())
        has_taken.set()
        may_go.wait(30)

    process = Process(worker)
    assert has_taken.wait(30)
    try:
        yield taken
    finally:
        may_go.set()
        process.await_end()


def states(run: ScoringRun) -> Counter:
    return Counter(run.rows.values_list("state", flat=True))
