"""Claims of scoring runs: batches of rows of even length, and the runs that have work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import F

from annotation.jobs import task_messages
from scoring.metrics.contract import BatchLimits
from scoring.models import ScoringRow, ScoringRun
from scoring.runs.engine import RunEngine
from scoring.runs.liveness import LeaseHolder

# Enough to keep any number of workers busy until the next sweep.
MOST_RUNS_PER_SWEEP = 100

# Longest first: what does not fit into memory shows at once, and no long row is left for the end. A batch is padded
# to its longest, so that is what its seconds are reckoned by; and nothing under half as long is padded with it.
_TAKE = """
WITH next AS MATERIALIZED (
    SELECT id, length FROM {row}
    WHERE run_id = %(run)s AND state = 1 AND attempts = 0
    ORDER BY length DESC LIMIT %(examples)s
    FOR UPDATE SKIP LOCKED
), ranked AS (
    SELECT id, length, row_number() OVER (ORDER BY length DESC, id) AS n, max(length) OVER () AS longest FROM next
)
UPDATE {row} r
SET state = 2, claim = %(claim)s, attempts = 1, lease_expires_at = now() + %(lease)s::interval
FROM ranked
WHERE r.id = ranked.id
  AND (ranked.n = 1 OR (ranked.n * ranked.longest <= %(seconds)s AND 2 * ranked.length >= ranked.longest))
RETURNING r.id
"""


class _ScoringEngine(RunEngine[ScoringRun]):
    runs, rows = ScoringRun, ScoringRow
    name, model_noun = "scoring", "scorer"
    request_lock, loading_lock = 7_303_020, 7_303_021
    ready = "r.scorer_id IS NOT NULL"
    item_path, system_path = "candidate__item_version__item__external_id", "candidate__system__name"
    after_version_change = (
        "What it has scored stays; start a new run, which scores everything with the version at hand."
    )

    def wake(self, run_id: int) -> None:
        """Sent by the task's name: its module imports this one."""
        task_messages.send_task("scoring.tasks.work_on_run", run_id, expires=15)

    def audit_fields(self, run: ScoringRun) -> dict[str, Any]:
        return {"metric": run.metric, "scored": run.n_done, "failed": run.n_failed}


SCORING = _ScoringEngine()


@dataclass(frozen=True)
class ClaimedBatch:
    """Rows leased together. `single`: a worker died with this one before, so nothing else is to be leased beside it."""

    rows: tuple[int, ...]
    single: bool = False


@transaction.atomic
def claim_batch(
    run: ScoringRun, holder: LeaseHolder, limits: BatchLimits, *, allow_single: bool
) -> ClaimedBatch | None:
    """The next batch; None when there is none now, or the run is over. `allow_single`: the holder has no other rows."""
    SCORING.release_dead_claims(run.pk, holder)
    if not SCORING.lock_for_claims(run.pk):
        return None
    examples = max(limits.examples, 1)
    if rows := SCORING.take_rows(_TAKE, run.pk, holder, examples=examples, seconds=limits.seconds):
        return ClaimedBatch(tuple(rows))
    single = SCORING.take_single(run.pk, holder) if allow_single else []
    return ClaimedBatch(tuple(single), single=True) if single else None


def runs_with_work() -> list[int]:
    """Runs that are to begin, or have rows that a worker could claim: among them those whose worker has just died.
    Those that have waited longest come first, so that runs take turns at one worker."""
    runs = ScoringRun.objects.filter(state__in=ScoringRun.UNFINISHED)
    in_turn = runs.order_by(F("worked_at").asc(nulls_first=True), "pk").only("pk", "state")
    return [
        run.pk
        for run in in_turn[:MOST_RUNS_PER_SWEEP]
        if run.state == ScoringRun.State.QUEUED or SCORING.has_claimable_rows(run.pk)
    ]
