"""Workers that die, come late, lose the database or are stopped: nothing is lost and nothing doubled. With controls."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import timedelta

import psycopg
import pytest
from django.conf import settings
from django.db import OperationalError, connection
from django.utils import timezone

from scoring.metrics import registry
from scoring.metrics.contract import Example, Outcome, Reading, SetupError
from scoring.models import Score, ScoringRow, ScoringRun
from scoring.runs import claims, engine, liveness, results, scoring_runs, worker
from scoring.runs.claims import SCORING
from scoring.runs.liveness import LeaseHolder
from tests.concurrency.scoring_workers import (
    CLAIMED,
    DONE,
    FAILED,
    WAITING,
    elsewhere,
    living,
    prepared,
    states,
    take_and_die,
)
from tests.scoring.doubles import Scripted, WordCount
from tests.scoring.studies import check_books

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.concurrency,
    pytest.mark.usefixtures("no_model_open"),
]


# ── Workers that die ─────────────────────────────────────────────────────────


def test_what_a_killed_worker_held_is_done_by_the_next_at_once(use):
    use(WordCount())
    run = prepared(6)
    assert len(take_and_die(run)) == 4
    worker.work_on_run(run.pk)
    check_books(run)
    assert (run.state, run.n_failed) == ("done", 0)


def test_without_looking_at_locks_it_would_wait_for_the_lease(use, unguarded):
    unguarded(engine, "_RELEASE_DEAD_CLAIMS", engine._IS_DEAD, "x.lease_expires_at < now()")
    use(WordCount())
    run = prepared(6)
    take_and_die(run)
    worker.work_on_run(run.pk)
    assert states(run) == {DONE: 2, CLAIMED: 4}
    ScoringRow.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    worker.work_on_run(run.pk)
    assert states(run) == {DONE: 6}


def test_a_machine_without_weights_leaves_a_run_to_those_who_are_at_it(use, monkeypatch):
    use(WordCount())
    run = prepared(6)

    def lacks(*_) -> None:
        raise SetupError("There are no weights on this machine.")

    monkeypatch.setattr(registry, "open_metric", lacks)
    for attended, n in ((True, 0), (True, engine.MAX_ATTEMPTS), (False, 0)):
        ScoringRun.objects.update(n_openings=n)
        with living(run) if attended else nullcontext():
            assert not worker.work_on_run(run.pk)
        run.refresh_from_db()
        assert run.state == ("running" if attended else "failed")
    assert run.message == "There are no weights on this machine."


def test_what_a_living_worker_holds_is_left_to_it(use):
    use(WordCount())
    run = prepared(6)
    with living(run) as held:
        assert SCORING.has_live_worker(run.pk)
        assert not worker.work_on_run(run.pk)
        assert set(run.rows.filter(state=CLAIMED).values_list("pk", flat=True)) == set(held)
        assert claims.runs_with_work() == []
    assert claims.runs_with_work() == [run.pk]
    assert not SCORING.has_live_worker(run.pk)
    worker.work_on_run(run.pk)
    check_books(run)


def test_what_killed_its_worker_is_tried_again_alone_and_last(use):
    metric = use(WordCount())
    run = prepared(6)
    suspects = take_and_die(run)
    assert take_and_die(run, allow_single=False, limit=1) not in [[pk] for pk in suspects]
    worker.work_on_run(run.pk)
    check_books(run)
    first, *alone = metric.batches
    assert not {*first} & {*suspects}
    assert [len(batch) for batch in alone] == [1] * 5


def test_a_row_that_kills_three_workers_fails_and_takes_no_other_along(use):
    use(WordCount())
    run = prepared(3)
    take_and_die(run)
    poison = take_and_die(run)
    while (again := take_and_die(run)) != poison:
        # An innocent row: this worker lives.
        assert len(again) == 1
        ScoringRow.objects.filter(pk__in=again).update(attempts=2, state=WAITING, claim=None)
        ScoringRow.objects.filter(pk__in=again).update(attempts=1, state=DONE)
        SCORING.add_to_counters(run.pk, n_done=1)
    worker.work_on_run(run.pk)
    run.refresh_from_db()
    row = run.rows.get(pk=poison[0])
    assert (row.state, row.fault, row.attempts) == (FAILED, "worker_died", 3)
    assert "died 3 times" in row.reason
    assert (run.state, run.n_done, run.n_failed) == ("done", 2, 1)


def test_a_late_workers_result_changes_nothing():
    assert late_result() == ("done", 1, 0, {1.0})


def test_without_the_claim_it_would_count_twice(unguarded):
    guard = "AND claim = %(claim)s AND state = 2"
    unguarded(results, "_LOCK_CLAIMED_ROWS", guard, "AND %(claim)s > 0")
    assert late_result()[1] == 2


def late_result() -> tuple[str, int, int, set[float]]:
    """A worker's lease runs out, a second one does its row, then the first comes with another value."""
    run = prepared(1)
    late, second = LeaseHolder(), LeaseHolder()
    batch = claims.claim_batch(run, late, WordCount().limits, allow_single=True)
    ScoringRow.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    again = claims.claim_batch(run, second, WordCount().limits, allow_single=True)
    assert batch.rows == again.rows
    for holder, value in ((second, 1.0), (late, 2.0)):
        results.store_outcomes(run, holder.number, [Outcome(batch.rows[0], {"words": Reading(value)})])
    run.refresh_from_db()
    return run.state, run.n_done, run.n_failed, set(Score.objects.values_list("value", flat=True))


# ── A database that goes away ────────────────────────────────────────────────


def end_connections_of(pid: int) -> None:
    database = settings.DATABASES["default"]
    with psycopg.connect(host=database["HOST"], user=database["USER"], dbname=database["NAME"]) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])


def cut_once() -> Callable[[Sequence[Example]], None]:
    """A script that cuts the worker's connection while its first batch is being scored."""
    done: list[bool] = []

    def cut(examples: Sequence[Example]) -> None:
        if not done:
            done.append(True)
            end_connections_of(connection.connection.info.backend_pid)

    return cut


def test_what_was_scored_is_stored_after_a_lost_connection(use, monkeypatch):
    monkeypatch.setattr(liveness, "FIRST_BACKOFF", 0.01)
    metric = use(Scripted(cut_once()))
    run = prepared(10)
    worker.work_on_run(run.pk)
    check_books(run)
    assert run.state == "done"
    assert sorted(Counter(key for batch in metric.batches for key in batch).values()) == [1] * 10


def test_without_patience_it_would_be_lost_and_done_again(use, monkeypatch):
    monkeypatch.setattr(liveness, "RETRY_SECONDS", -1.0)
    metric = use(Scripted(cut_once()))
    run = prepared(10)
    with pytest.raises(OperationalError):
        worker.work_on_run(run.pk)
    connection.close()
    assert claims.runs_with_work() == [run.pk]
    worker.work_on_run(run.pk)
    check_books(run)
    assert max(Counter(key for batch in metric.batches for key in batch).values()) == 2


# ── Being stopped ────────────────────────────────────────────────────────────


def test_after_a_cancellation_nothing_more_is_taken(use):
    run = prepared(20)

    def cancel_once(examples: Sequence[Example]) -> None:
        if run.state != "cancelled":
            elsewhere(lambda: scoring_runs.cancel(ScoringRun.objects.get(pk=run.pk), actor=None))
            run.state = "cancelled"

    metric = use(Scripted(cancel_once))
    worker.work_on_run(run.pk)
    run.refresh_from_db()
    assert run.state == "cancelled"
    # The batch that was being scored is kept; so is the one that had been made ready, as it had been taken.
    assert states(run) == {DONE: run.n_done, WAITING: 20 - run.n_done}
    assert run.n_done == sum(map(len, metric.batches)) == 8
    scoring_runs.retry(run, actor=None)
    worker.work_on_run(run.pk)
    check_books(run)
    assert run.state == "done"


def test_a_worker_that_is_to_end_finishes_its_batch_and_puts_the_next_down(use):
    asked = threading.Event()
    use(Scripted(lambda examples: asked.set()))
    run = prepared(20)
    assert worker.work_until_stopped(run.pk, stopping=asked.is_set)
    assert states(run) == {DONE: 4, WAITING: 16}
    assert not run.rows.filter(state=WAITING, attempts__gt=0).exists()


def test_a_batch_that_takes_too_long_goes_back_and_no_death_is_counted(use, monkeypatch):
    monkeypatch.setattr(liveness, "STOP_POLL_SECONDS", 0.02)
    monkeypatch.setattr(liveness, "GRACE_SECONDS", 0.02)
    asked = threading.Event()
    run = prepared(6)

    def never_ends(examples: Sequence[Example]) -> None:
        asked.set()
        for _ in range(500):
            if not ScoringRow.objects.filter(run=run, state=CLAIMED).exists():
                return
            threading.Event().wait(0.02)
        raise AssertionError("the rows did not go back")

    use(Scripted(never_ends))
    worker.work_until_stopped(run.pk, stopping=asked.is_set)
    assert states(run) == {WAITING: 6}
    assert not run.rows.filter(attempts__gt=0).exists()
    assert not Score.objects.exists()
