"""Claims of writing runs: drafts first, and a rate limit per writer.

One worker serves all runs: whatever a person waits for at the review desk comes first, and a writer that may write so
much a minute is given so much, however many workers there are.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from django.db import transaction

from annotation.jobs import task_messages
from annotation.review import drafts
from scoring.models import WritingRow, WritingRun
from scoring.runs.engine import CLAIMABLE, RunEngine, sanitize_text
from scoring.runs.liveness import LeaseHolder

# Of a writer with a limit so much of a minute's texts is begun together at most.
_SHARE_AT_ONCE = 10

_UNFINISHED = "r.state IN ('queued', 'running')"
_TO_WRITE = f"({_UNFINISHED} AND {CLAIMABLE})"
_UNPUBLISHED = """
SELECT FROM {row} x
WHERE x.run_id = r.id AND x.state = 3 AND x.published_at IS NULL AND x.fault = ''
"""
# What a run publishes as it comes stays unpublished once the run is halted; what somebody has looked at does not.
_TO_PUBLISH = f"""
(r.publishes AND {_UNFINISHED} AND EXISTS ({_UNPUBLISHED})
 OR r.publishing AND EXISTS ({_UNPUBLISHED} AND x.wanted))
"""
_CANDIDATES = f"""
FROM {{run}} r LEFT JOIN scoring_writer w ON w.id = r.writer_id
WHERE ({_UNFINISHED} OR r.publishing) AND (%(only)s::bigint IS NULL OR r.id = %(only)s)
  AND NOT r.id = ANY(%(skipped)s::bigint[])
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
_LOCK_RATE_LIMIT = """
SELECT per_minute, next_at <= clock_timestamp() OR next_at IS NULL FROM scoring_writer
WHERE id = %(writer)s AND per_minute IS NOT NULL FOR NO KEY UPDATE
"""
_ADVANCE_RATE_LIMIT = """
UPDATE scoring_writer
SET next_at = greatest(next_at, clock_timestamp()) + make_interval(secs => %(n)s * 60.0 / per_minute)
WHERE id = %(writer)s
"""
_TAKE = """
WITH next AS (
    SELECT id FROM {row}
    WHERE run_id = %(run)s AND state = 1 AND attempts = 0 ORDER BY id LIMIT %(n)s
    FOR UPDATE SKIP LOCKED
)
UPDATE {row} x
SET state = 2, claim = %(claim)s, attempts = 1, lease_expires_at = now() + %(lease)s::interval
FROM next WHERE x.id = next.id
RETURNING x.id
"""
_STOP_PUBLISHING = f"""
UPDATE {{run}} r SET publishing = false
WHERE id = %(run)s AND publishing AND NOT EXISTS ({_UNPUBLISHED} AND x.wanted)
"""


class _WritingEngine(RunEngine[WritingRun]):
    runs, rows = WritingRun, WritingRow
    name, model_noun = "writing", "writer"
    request_lock, loading_lock = 7_303_024, 7_303_023
    more_to_do = _TO_PUBLISH
    faulty = "fault <> ''"
    item_path, system_path = "item_version__item__external_id", "system__name"
    after_version_change = "What it has written stays; start a new run for the rest."

    def wake(self, run_id: int) -> None:
        """Sent by the task's name: its module imports this one."""
        task_messages.send_task("scoring.tasks.write_texts", expires=60)

    def audit_fields(self, run: WritingRun) -> dict[str, Any] | None:
        """Drafts are recorded one by one."""
        if run.purpose == WritingRun.Purpose.DRAFTS:
            return None
        return {"written": run.n_done, "failed": run.n_failed, "published": run.n_published}

    def add_to_counters(self, run_id: int, **settled: int) -> None:
        """The worker that settles the last row also ends the publishing of approved texts."""
        self.move_counters(run_id, **settled)
        if self.execute(_STOP_PUBLISHING, run=run_id):
            self.audit_end(run_id, "publishing_finished")
        self.finish_if_settled(run_id)

    def on_rows_failed(self, row_ids: Sequence[int]) -> None:
        with_draft = WritingRow.objects.filter(pk__in=row_ids, draft__isnull=False).order_by("pk")
        for draft_id, reason in with_draft.values_list("draft_id", "reason"):
            drafts.store_failure(draft_id or 0, problem=reason)

    def on_halted(self, run: WritingRun, message: str) -> None:
        """The drafts of a run fail with it."""
        if run.purpose == WritingRun.Purpose.DRAFTS:
            unwritten = WritingRow.objects.filter(run=run, draft__isnull=False)
            unwritten = unwritten.exclude(state=WritingRow.State.DONE).order_by("pk")
            for draft_id in unwritten.values_list("draft_id", flat=True):
                drafts.store_failure(draft_id or 0, problem=sanitize_text(message))

    def fail_run(self, run: WritingRun, message: str) -> None:
        """A failure of one writer's draft fails the others that wait for the writer."""
        super().fail_run(run, message)
        if run.purpose == WritingRun.Purpose.DRAFTS:
            waiting = WritingRun.objects.filter(
                writer=run.writer_id, purpose=run.purpose, state=WritingRun.State.QUEUED
            )
            for other in waiting.order_by("pk"):
                super().fail_run(other, message)

    def has_work(self, run: WritingRun) -> bool:
        return run.publishing or super().has_work(run)


WRITING = _WritingEngine()


def next_run(*, open_writer: int | None, only: int | None, skipped: Collection[int]) -> int | None:
    """The run that is to be worked on now, by anybody: drafts first. `skipped`: runs to leave out."""
    run_id: int | None = WRITING.select_value(_NEXT, open=open_writer, only=only, skipped=list(skipped))
    return run_id


def seconds_until_rate_limit(*, only: int | None, skipped: Collection[int]) -> float | None:
    """Until some writer that has something to write may go on; None where none waits for its rate limit."""
    seconds = WRITING.select_value(_SECONDS_UNTIL_RATE_LIMIT, only=only, skipped=list(skipped))
    return None if seconds is None else max(float(seconds), 0.0)


@transaction.atomic
def claim_batch(run: WritingRun, holder: LeaseHolder, *, at_once: int) -> list[int]:
    """The next rows, as many as are written together and as the writer's rate limit allows; none when there are none
    now, or the run is over. What a worker died with comes alone, last."""
    WRITING.release_dead_claims(run.pk, holder)
    if not WRITING.lock_for_claims(run.pk):
        return []
    limit = WRITING.select(_LOCK_RATE_LIMIT, writer=run.writer_id)
    if limit and not limit[0][1]:
        return []
    n = min(at_once, max(limit[0][0] // _SHARE_AT_ONCE, 1)) if limit else at_once
    rows = WRITING.take_rows(_TAKE, run.pk, holder, n=n) or WRITING.take_single(run.pk, holder)
    if limit and rows:
        WRITING.execute(_ADVANCE_RATE_LIMIT, writer=run.writer_id, n=len(rows))
    return rows


def lock_if_unfinished(run_id: int) -> bool:
    """Whether nobody has halted a run; nobody does before this transaction ends. Its row is locked as the counters will
    lock it anyway, so call it only when nothing but the counters is left to move."""
    return bool(
        WRITING.select_value(
            f"SELECT {_UNFINISHED} FROM {{run}} r WHERE id = %(run)s FOR NO KEY UPDATE", run=run_id
        )
    )
