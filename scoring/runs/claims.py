"""Leases of a scoring run's rows: claim a batch, renew, release; rows of dead workers are released and retried
alone.

A claim is an advisory lock's number. A row whose claim nobody holds any more is free at once, whoever killed the
worker; one whose worker lives is free only after a generous lease, for the case that its connection hangs.

What has been in hand when a worker died is tried again alone, when nothing else is left to do: should it be what kills
workers, it takes nothing along with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from annotation.studies import audit
from scoring.metrics.contract import BatchLimits
from scoring.models import ScoringRun
from scoring.runs.liveness import LIVE_LOCKS, LeaseHolder

LEASE = "1 hour"
MAX_ATTEMPTS = 3
# So many failed rows are put back at once: a tenth of a second, for which the run itself is locked.
REQUEUED_AT_ONCE = 1_000
# A run that nobody has worked on for so long starts its rate anew.
RATE_RESTARTS_AFTER = "10 minutes"

_BEGIN = """
UPDATE scoring_scoringrun SET
    state = 'running',
    n_settled_before = CASE WHEN paused.yes THEN n_done + n_failed ELSE n_settled_before END,
    working_since = CASE WHEN paused.yes THEN now() ELSE working_since END
FROM (SELECT id, working_since IS NULL OR greatest(worked_at, working_since) < now() - %(pause)s::interval AS yes
      FROM scoring_scoringrun WHERE id = %(run)s) paused
WHERE scoring_scoringrun.id = paused.id AND state IN ('queued', 'running') AND scorer_id IS NOT NULL
"""
# Longest first: what does not fit into memory shows at once, and no long row is left for the end. A batch is padded
# to its longest, so that is what its seconds are reckoned by; and nothing under half as long is padded with it.
_TAKE = """
WITH next AS MATERIALIZED (
    SELECT id, length FROM scoring_scoringrow
    WHERE run_id = %(run)s AND state = 1 AND attempts = 0
    ORDER BY length DESC LIMIT %(examples)s
    FOR UPDATE SKIP LOCKED
), ranked AS (
    SELECT id, length, row_number() OVER (ORDER BY length DESC, id) AS n, max(length) OVER () AS longest FROM next
)
UPDATE scoring_scoringrow r
SET state = 2, claim = %(claim)s, attempts = 1, lease_expires_at = now() + %(lease)s::interval
FROM ranked
WHERE r.id = ranked.id
  AND (ranked.n = 1 OR (ranked.n * ranked.longest <= %(seconds)s AND 2 * ranked.length >= ranked.longest))
RETURNING r.id
"""
_TAKE_ONE = """
WITH next AS (
    SELECT id FROM scoring_scoringrow
    WHERE run_id = %(run)s AND state = 1 AND attempts > 0
    ORDER BY attempts, id LIMIT 1
    FOR UPDATE SKIP LOCKED
)
UPDATE scoring_scoringrow r
SET state = 2, claim = %(claim)s, attempts = attempts + 1, lease_expires_at = now() + %(lease)s::interval
FROM next WHERE r.id = next.id
RETURNING r.id
"""
# PostgreSQL looks at its locks only if another worker's row is there to ask about.
_IS_DEAD = f"(lease_expires_at < now() OR claim NOT IN ({LIVE_LOCKS}))"
_RELEASE_DEAD_CLAIMS = f"""
WITH dead AS (
    SELECT id, attempts FROM scoring_scoringrow
    WHERE run_id = %(run)s AND state = 2 AND claim <> %(claim)s AND {_IS_DEAD}
    ORDER BY id
    FOR UPDATE SKIP LOCKED
)
UPDATE scoring_scoringrow r
SET state = CASE WHEN r.attempts >= %(most)s THEN 4 ELSE 1 END, claim = NULL, lease_expires_at = NULL,
    fault = CASE WHEN r.attempts >= %(most)s THEN 'worker_died' ELSE '' END,
    reason = CASE WHEN r.attempts >= %(most)s THEN %(reason)s ELSE '' END
FROM dead WHERE r.id = dead.id
RETURNING r.state
"""
_CLAIMABLE = f"""
SELECT EXISTS (SELECT FROM scoring_scoringrow WHERE run_id = %(run)s AND state = 1)
    OR EXISTS (SELECT FROM scoring_scoringrow WHERE run_id = %(run)s AND state = 2 AND {_IS_DEAD})
"""
_HAS_LIVE_WORKER = f"""
SELECT EXISTS (SELECT FROM scoring_scoringrow WHERE run_id = %(run)s AND state = 2 AND NOT {_IS_DEAD})
"""
_RELEASE_CLAIMS = """
UPDATE scoring_scoringrow SET state = 1, claim = NULL, lease_expires_at = NULL, attempts = attempts - 1
WHERE run_id = %(run)s AND claim = %(claim)s AND state = 2
"""
_REQUEUE_FAILED = """
UPDATE scoring_scoringrow SET state = 1, attempts = 0, claim = NULL, fault = '', reason = ''
WHERE id IN (SELECT id FROM scoring_scoringrow WHERE run_id = %(run)s AND state = 4 ORDER BY id LIMIT %(most)s)
"""
_RENEW = """
UPDATE scoring_scoringrow SET lease_expires_at = now() + %(lease)s::interval
WHERE id = ANY(%(rows)s) AND claim = %(claim)s AND state = 2
RETURNING id
"""
_WORKER_DIED = (
    f"The worker died {MAX_ATTEMPTS} times while this was in its hands, the last times with nothing else. It may take "
    "more memory than there is: look at the worker's log, and try again on a larger machine."
)


@dataclass(frozen=True)
class ClaimedBatch:
    """Rows in hand. `alone`: a worker died with this one before, so nothing is to be in hand beside it."""

    rows: tuple[int, ...]
    alone: bool = False


@transaction.atomic
def begin_run(run: ScoringRun) -> bool:
    """Say that a run is at work; False when it is over, as one is whose last rows were settled while it was halted."""
    if not _execute(_BEGIN, run=run.pk, pause=RATE_RESTARTS_AFTER):
        return False
    return not finish_if_settled(run.pk)


@transaction.atomic
def requeue_failed(run_id: int) -> bool:
    """Let a part of what failed wait again; True when there may be more. Only while the run is queued, as `runs.retry`
    leaves it: what fails once it is at work has been tried again."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT FROM scoring_scoringrun WHERE id = %s AND state = 'queued' FOR NO KEY UPDATE", [run_id]
        )
        if not cursor.rowcount:
            return False
    n = _execute(_REQUEUE_FAILED, run=run_id, most=REQUEUED_AT_ONCE)
    _execute("UPDATE scoring_scoringrun SET n_failed = n_failed - %(n)s WHERE id = %(run)s", run=run_id, n=n)
    return n == REQUEUED_AT_ONCE


@transaction.atomic
def claim_batch(
    run: ScoringRun, claimant: LeaseHolder, limits: BatchLimits, *, hands_free: bool
) -> ClaimedBatch | None:
    """The next batch; None when there is none now, or the run is over. Only with free hands one is given what is to be
    done alone."""
    release_dead_claims(run, claimant)
    values: dict[str, Any] = {"run": run.pk, "claim": claimant.number, "lease": LEASE}
    # Shared among those who take, and in the way of who cancels: after a cancellation nothing more is taken.
    with connection.cursor() as cursor:
        cursor.execute("SELECT state FROM scoring_scoringrun WHERE id = %s FOR SHARE", [run.pk])
        if (found := cursor.fetchone()) is None or found[0] not in ScoringRun.UNFINISHED:
            return None
        cursor.execute(_TAKE, {**values, "examples": max(limits.examples, 1), "seconds": limits.seconds})
        if rows := cursor.fetchall():
            return ClaimedBatch(tuple(sorted(row for (row,) in rows)))
        if not hands_free:
            return None
        cursor.execute(_TAKE_ONE, values)
        return (
            ClaimedBatch(tuple(row for (row,) in rows), alone=True) if (rows := cursor.fetchall()) else None
        )


@transaction.atomic
def release_dead_claims(run: ScoringRun, claimant: LeaseHolder) -> None:
    """Let go what the dead held; what has cost three workers their life fails."""
    with connection.cursor() as cursor:
        values: dict[str, Any] = {
            "run": run.pk,
            "claim": claimant.number,
            "most": MAX_ATTEMPTS,
            "reason": _WORKER_DIED,
        }
        cursor.execute(_RELEASE_DEAD_CLAIMS, values)
        n_failed = [state for (state,) in cursor.fetchall()].count(4)
    if n_failed:
        add_to_counters(run.pk, n_failed=n_failed)


def renew_lease(batch: ClaimedBatch, claimant: LeaseHolder) -> list[int]:
    """Those rows of a batch that are still in hand, for another lease."""
    with connection.cursor() as cursor:
        cursor.execute(_RENEW, {"rows": list(batch.rows), "claim": claimant.number, "lease": LEASE})
        return sorted(row for (row,) in cursor.fetchall())


def release_claims(run_id: int, claim: int) -> None:
    """Put down everything in hand, as if it had never been taken."""
    _execute(_RELEASE_CLAIMS, run=run_id, claim=claim)


def add_to_counters(run_id: int, *, n_done: int = 0, n_failed: int = 0) -> None:
    """Move a run's counters, last in the transaction that settles its rows: whoever settles the last one ends it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE scoring_scoringrun SET n_done = n_done + %s, n_failed = n_failed + %s,"
            " worked_at = clock_timestamp() WHERE id = %s",
            [n_done, n_failed, run_id],
        )
    finish_if_settled(run_id)


def finish_if_settled(run_id: int) -> bool:
    """End a run that has nothing left. Not while it is queued: what failed in it may yet be put back."""
    ended = _execute(
        "UPDATE scoring_scoringrun SET state = 'done', finished_at = %(now)s WHERE id = %(run)s"
        " AND state = 'running' AND scorer_id IS NOT NULL AND n_done + n_failed >= n_rows",
        run=run_id,
        now=timezone.now(),
    )
    if ended:
        audit_run_end(run_id)
    return bool(ended)


def audit_run_end(run_id: int) -> None:
    """Tell that a run is done or has failed, with what came of it; why it failed stands with the run alone. In the
    transaction that ends it."""
    run = ScoringRun.objects.select_related("study").get(pk=run_id)
    audit.record(
        "scoring.finished", actor=None, study=run.study, subject=f"scoring run {run.pk}", metric=run.metric,
        state=run.state, scored=run.n_done, failed=run.n_failed,
    )  # fmt: skip


def has_claimable_rows(run_id: int) -> bool:
    """Whether a run has rows that somebody could take."""
    return _exists(_CLAIMABLE, run_id)


def has_live_worker(run_id: int) -> bool:
    """Whether a living worker has rows of this run in hand."""
    return _exists(_HAS_LIVE_WORKER, run_id)


def _exists(query: str, run_id: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(query, {"run": run_id})
        return bool(cursor.fetchone()[0])


def _execute(statement: str, **values: Any) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return int(cursor.rowcount)


# Finding runs that have work and may have nobody at it. The database is the truth; messages only wake.


# Enough to keep any number of workers busy until the next sweep.
MOST_RUNS_PER_SWEEP = 100


def runs_with_work() -> list[int]:
    """Runs that are to begin, or have rows that somebody could take: among them those whose worker has just died.
    Those that have waited longest come first, so that runs take turns at one worker."""
    found = ScoringRun.objects.filter(state__in=ScoringRun.UNFINISHED)
    in_turn = found.order_by(F("worked_at").asc(nulls_first=True), "pk").only("pk", "state")[
        :MOST_RUNS_PER_SWEEP
    ]
    return [run.pk for run in in_turn if run.state == ScoringRun.State.QUEUED or has_claimable_rows(run.pk)]
