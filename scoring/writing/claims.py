"""Leases of a writing run's rows, with a rate limit per writer.

As for scoring (`claims`): a claim is an advisory lock's number, free at once when nobody holds it, and what was in hand
when a worker died is tried again alone. Here one worker serves all runs: whatever a person waits for at the review desk
comes first, and a writer that may write so much a minute is given so much, however many workers there are.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from celery import current_app
from django.db import connection, transaction

from annotation.studies import audit
from scoring.models import WritingRow, WritingRun
from scoring.runs.claims import LEASE, MAX_ATTEMPTS, RATE_RESTARTS_AFTER
from scoring.runs.liveness import LIVE_LOCKS, LeaseHolder

# Of a writer with a limit so much of a minute's texts is begun together at most.
_SHARE_AT_ONCE = 10

_IS_DEAD = f"(x.lease_expires_at < now() OR x.claim NOT IN ({LIVE_LOCKS}))"
_UNFINISHED = "r.state IN ('queued', 'running')"
_TO_WRITE = f"""
({_UNFINISHED} AND (EXISTS (SELECT FROM scoring_writingrow x WHERE x.run_id = r.id AND x.state = 1)
 OR EXISTS (SELECT FROM scoring_writingrow x WHERE x.run_id = r.id AND x.state = 2 AND {_IS_DEAD})))
"""
_UNPUBLISHED = """
SELECT FROM scoring_writingrow x
WHERE x.run_id = r.id AND x.state = 3 AND x.published_at IS NULL AND x.fault = ''
"""
# What a run publishes as it comes stays unpublished once the run is halted; what somebody has looked at does not.
_TO_PUBLISH = f"""
(r.publishes AND {_UNFINISHED} AND EXISTS ({_UNPUBLISHED})
 OR r.publishing AND EXISTS ({_UNPUBLISHED} AND x.wanted))
"""
_CANDIDATES = f"""
FROM scoring_writingrun r LEFT JOIN scoring_writer w ON w.id = r.writer_id
WHERE ({_UNFINISHED} OR r.publishing) AND (%(only)s::bigint IS NULL OR r.id = %(only)s)
  AND NOT r.id = ANY(%(passed)s::bigint[])
"""
# Of two that are equally wanted, the one whose model is in memory; else they take turns.
_NEXT = f"""
SELECT r.id {_CANDIDATES}
  AND ({_TO_PUBLISH} OR ((w.next_at IS NULL OR w.next_at <= clock_timestamp()) AND {_TO_WRITE}))
ORDER BY r.purpose = 'drafts' DESC, r.writer_id IS NOT DISTINCT FROM %(open)s::bigint DESC,
         r.worked_at NULLS FIRST, r.id
LIMIT 1
"""
_SECONDS_UNTIL_RATE_LIMIT = f"""
SELECT extract(epoch FROM min(w.next_at) - clock_timestamp()) {_CANDIDATES} AND w.next_at IS NOT NULL AND {_TO_WRITE}
"""
_BEGIN = """
UPDATE scoring_writingrun SET
    state = 'running',
    n_settled_before = CASE WHEN paused.yes THEN n_done + n_failed ELSE n_settled_before END,
    working_since = CASE WHEN paused.yes THEN now() ELSE working_since END
FROM (SELECT id, working_since IS NULL OR greatest(worked_at, working_since) < now() - %(pause)s::interval AS yes
      FROM scoring_writingrun WHERE id = %(run)s) paused
WHERE scoring_writingrun.id = paused.id AND state IN ('queued', 'running')
"""
_LOCK_RATE_LIMIT = """
SELECT per_minute, next_at <= clock_timestamp() OR next_at IS NULL FROM scoring_writer
WHERE id = %s AND per_minute IS NOT NULL FOR NO KEY UPDATE
"""
_ADVANCE_RATE_LIMIT = """
UPDATE scoring_writer
SET next_at = greatest(next_at, clock_timestamp()) + make_interval(secs => %(n)s * 60.0 / per_minute)
WHERE id = %(writer)s
"""
_TAKE = """
WITH next AS (
    SELECT id FROM scoring_writingrow
    WHERE run_id = %(run)s AND state = 1 AND {which} LIMIT %(n)s
    FOR UPDATE SKIP LOCKED
)
UPDATE scoring_writingrow x
SET state = 2, claim = %(claim)s, attempts = attempts + 1, lease_expires_at = now() + %(lease)s::interval
FROM next WHERE x.id = next.id
RETURNING x.id
"""
_TAKE_NEW = _TAKE.replace("{which}", "attempts = 0 ORDER BY id")
_TAKE_AGAIN = _TAKE.replace("{which}", "attempts > 0 ORDER BY attempts, id")
_RELEASE_DEAD_CLAIMS = f"""
WITH dead AS (
    SELECT id FROM scoring_writingrow x
    WHERE run_id = %(run)s AND state = 2 AND claim <> %(claim)s AND {_IS_DEAD}
    ORDER BY id
    FOR UPDATE SKIP LOCKED
)
UPDATE scoring_writingrow x SET state = 1, claim = NULL, lease_expires_at = NULL
FROM dead WHERE x.id = dead.id AND x.attempts < %(most)s
"""
_LOCK_REPEATEDLY_FAILED = f"""
SELECT x.id FROM scoring_writingrow x
WHERE run_id = %(run)s AND state = 2 AND claim <> %(claim)s AND attempts >= %(most)s AND {_IS_DEAD}
ORDER BY id
FOR UPDATE SKIP LOCKED
"""
_RELEASE_CLAIMS = """
UPDATE scoring_writingrow SET state = 1, claim = NULL, lease_expires_at = NULL, attempts = attempts - 1
WHERE claim = %(claim)s AND state = 2
"""
_ADD_TO_COUNTERS = """
UPDATE scoring_writingrun SET n_done = n_done + %(done)s, n_failed = n_failed + %(failed)s,
    n_published = n_published + %(published)s, prompt_tokens = prompt_tokens + %(read)s,
    completion_tokens = completion_tokens + %(written)s, worked_at = clock_timestamp()
WHERE id = %(run)s
"""
_FINISH = f"""
UPDATE scoring_writingrun r SET state = 'done', finished_at = clock_timestamp()
WHERE id = %(run)s AND state = 'running' AND n_done + n_failed >= n_rows AND NOT {_TO_PUBLISH}
"""
_STOP_PUBLISHING = f"""
UPDATE scoring_writingrun r SET publishing = false
WHERE id = %(run)s AND publishing AND NOT EXISTS ({_UNPUBLISHED} AND x.wanted)
"""
WORKER_DIED = (
    f"The worker died {MAX_ATTEMPTS} times while this was in its hands. It may take more memory than there is: look at "
    "the worker's log, and try again on a larger machine."
)


@dataclass(frozen=True)
class CounterDelta:
    """What a settled row adds to its run."""

    done: int = 0
    failed: int = 0
    published: int = 0
    read: int = 0
    written: int = 0


def next_run(*, open_writer: int | None, only: int | None, passed: Collection[int]) -> int | None:
    """The run that is to be worked on now, by anybody: drafts first. `passed`: runs not to be thought of."""
    values = {"open": open_writer, "only": only, "passed": list(passed)}
    found = _select_value(_NEXT, **values)
    return None if found is None else int(found)


def seconds_until_rate_limit(*, only: int | None, passed: Collection[int]) -> float | None:
    """Until some writer that has something to write may go on; None where none waits for its time."""
    found = _select_value(_SECONDS_UNTIL_RATE_LIMIT, only=only, passed=list(passed))
    return None if found is None else max(float(found), 0.0)


@transaction.atomic
def begin_run(run_id: int) -> bool:
    """Say that a run is at work; False when it is over, or nothing is left in it."""
    return bool(_execute(_BEGIN, run=run_id, pause=RATE_RESTARTS_AFTER)) and not finish_if_settled(run_id)


@transaction.atomic
def claim_batch(run: WritingRun, claimant: LeaseHolder, *, at_once: int) -> list[int]:
    """The next rows, as many as are written together and as the writer's pace allows; none when there are none now, or
    the run is over. What a worker died with comes alone, last."""
    _execute(_RELEASE_DEAD_CLAIMS, run=run.pk, claim=claimant.number, most=MAX_ATTEMPTS)
    # Shared among those who take, and in the way of who cancels: after a cancellation nothing more is taken.
    with connection.cursor() as cursor:
        cursor.execute("SELECT state FROM scoring_writingrun WHERE id = %s FOR SHARE", [run.pk])
        if (found := cursor.fetchone()) is None or found[0] not in WritingRun.UNFINISHED:
            return []
        cursor.execute(_LOCK_RATE_LIMIT, [run.writer_id])
        pace = cursor.fetchone()
        if pace and not pace[1]:
            return []
        n = min(at_once, max(pace[0] // _SHARE_AT_ONCE, 1)) if pace else at_once
        values: dict[str, Any] = {"run": run.pk, "claim": claimant.number, "lease": LEASE}
        cursor.execute(_TAKE_NEW, {**values, "n": n})
        if not (rows := cursor.fetchall()):
            cursor.execute(_TAKE_AGAIN, {**values, "n": 1})
            rows = cursor.fetchall()
        if pace and rows:
            cursor.execute(_ADVANCE_RATE_LIMIT, {"writer": run.writer_id, "n": len(rows)})
    return sorted(row for (row,) in rows)


def lock_repeatedly_failed(run: WritingRun, claimant: LeaseHolder) -> list[int]:
    """Rows that cost too many workers their life, locked until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(
            _LOCK_REPEATEDLY_FAILED, {"run": run.pk, "claim": claimant.number, "most": MAX_ATTEMPTS}
        )
        return [row for (row,) in cursor.fetchall()]


def held(row_ids: Collection[int], claim: int) -> list[int]:
    """Those of these rows that are still in hand."""
    rows = WritingRow.objects.filter(pk__in=row_ids, claim=claim, state=WritingRow.State.CLAIMED)
    return list(rows.order_by("pk").values_list("pk", flat=True))


def release_claims(claim: int) -> None:
    """Put down everything in hand, as if it had never been taken."""
    _execute(_RELEASE_CLAIMS, claim=claim)


def add_to_counters(run_id: int, settled: CounterDelta) -> None:
    """Move a run's counters, last in the transaction that settles its rows: whoever settles the last one ends the run,
    or the publishing of what was looked at."""
    _execute(_ADD_TO_COUNTERS, run=run_id, **vars(settled))
    if _execute(_STOP_PUBLISHING, run=run_id):
        _audit("publishing_finished", run_id)
    finish_if_settled(run_id)


def lock_if_unfinished(run_id: int) -> bool:
    """Whether nobody has halted a run; nobody does before this transaction ends. Its row is locked as the counters will
    lock it anyway, so ask only when nothing but `settle` is left to do."""
    return bool(
        _select_value(
            f"SELECT {_UNFINISHED} FROM scoring_writingrun r WHERE id = %(run)s FOR NO KEY UPDATE", run=run_id
        )
    )


def finish_if_settled(run_id: int) -> bool:
    """End a run that has nothing left to write or to publish."""
    ended = bool(_execute(_FINISH, run=run_id))
    if ended:
        audit_run_end(run_id)
    return ended


def audit_run_end(run_id: int) -> None:
    """Tell that a run is done or has failed, with what came of it; why it failed stands with the run alone. In the
    transaction that ends it. A run of drafts ends with them, and each is told of by itself."""
    _audit("finished", run_id)


def _audit(what: str, run_id: int) -> None:
    run = WritingRun.objects.select_related("study").get(pk=run_id)
    if run.purpose != WritingRun.Purpose.DRAFTS:
        audit.record(
            f"writing.{what}", actor=None, study=run.study, subject=f"writing run {run.pk}", state=run.state,
            written=run.n_done, failed=run.n_failed, published=run.n_published,
        )  # fmt: skip


def has_live_worker(run_id: int) -> bool:
    """Whether a living worker has rows of this run in hand."""
    alive = f"SELECT FROM scoring_writingrow x WHERE run_id = %(run)s AND state = 2 AND NOT {_IS_DEAD}"
    return bool(_select_value(f"SELECT EXISTS ({alive})", run=run_id))


def _select_value(query: str, **values: Any) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        found = cursor.fetchone()
        return None if found is None else found[0]


def _execute(statement: str, **values: Any) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return int(cursor.rowcount)


def wake_worker() -> None:
    """Tell the workers that there are texts to write. Sent by the task's name: its module imports this one."""
    current_app.send_task("scoring.tasks.write_texts", expires=60)
