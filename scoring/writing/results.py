"""Results of a writing run: texts, drafts and faults stored row by row, counted and listed."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Count, Min, QuerySet
from django.utils import timezone

from annotation.review import drafts
from scoring.metrics.contract import ExampleError
from scoring.models import WritingRow, WritingRun
from scoring.runs.liveness import LeaseHolder
from scoring.runs.results import sanitize_text
from scoring.writing import claims
from scoring.writing.claims import WORKER_DIED, CounterDelta
from scoring.writing.contract import Text
from scoring.writing.publishing import TRUNCATED_MESSAGE, provenance, try_publishing

_CODE_LENGTH = 40
_log = logging.getLogger(__name__)


def store_texts(run: WritingRun, claim: int, outcomes: Mapping[int, Text | ExampleError]) -> None:
    """Settle rows, one by one. Those that another worker has taken over change nothing. Safe to repeat."""
    for row_id in sorted(outcomes):
        try:
            _store_row(run, claim, row_id, outcomes[row_id])
        except (TypeError, ValueError) as error:
            _log.error("A text could not be stored", exc_info=error)
            fault = ExampleError(
                "unforeseen", f"It could not be stored: {type(error).__name__}: {error}"[:500]
            )
            _store_row(run, claim, row_id, fault)


@transaction.atomic
def fail_repeatedly_failed(run: WritingRun, claimant: LeaseHolder) -> None:
    """What has cost three workers their life fails."""
    for row in WritingRow.objects.filter(pk__in=claims.lock_repeatedly_failed(run, claimant)).order_by("pk"):
        claims.add_to_counters(run.pk, _save_fault(row, ExampleError("worker_died", WORKER_DIED)))


@transaction.atomic
def _store_row(run: WritingRun, claim: int, row_id: int, outcome: Text | ExampleError) -> None:
    held = WritingRow.objects.select_related("item_version", "system").select_for_update(of=("self",))
    row = held.filter(pk=row_id, claim=claim, state=WritingRow.State.CLAIMED).first()
    if row is None:
        return
    settled = (
        _save_fault(row, outcome) if isinstance(outcome, ExampleError) else _save_text(run, row, outcome)
    )
    claims.add_to_counters(run.pk, settled)


def _save_text(run: WritingRun, row: WritingRow, text: Text) -> CounterDelta:
    row.state, row.claim, row.lease_expires_at = WritingRow.State.DONE, None, None
    row.text, row.cut = sanitize_text(text.text), text.cut
    row.prompt_tokens, row.completion_tokens = text.prompt_tokens, text.completion_tokens
    row.seconds, row.written_at = text.seconds, timezone.now()
    is_draft = row.draft_id is not None
    row.fault, row.reason = ("cut", TRUNCATED_MESSAGE) if row.cut and not is_draft else ("", "")
    row.save()
    if row.draft_id is not None:
        drafts.store_proposal(row.draft_id, text=row.text, provenance=provenance(run, row))
    published = run.publishes and not row.fault and try_publishing(run, row)
    return CounterDelta(
        done=1, published=int(published), read=text.prompt_tokens, written=text.completion_tokens
    )


def _save_fault(row: WritingRow, error: ExampleError) -> CounterDelta:
    row.state, row.claim, row.lease_expires_at = WritingRow.State.FAILED, None, None
    row.fault, row.reason = error.fault.code[:_CODE_LENGTH], sanitize_text(error.fault.message)
    row.save(update_fields=["state", "claim", "lease_expires_at", "fault", "reason"])
    if row.draft_id is not None:
        drafts.store_failure(row.draft_id, problem=row.reason)
    return CounterDelta(failed=1)


def halt_run(run: WritingRun, *, state: WritingRun.State, message: str) -> bool:
    """End a run that is not over, with a sentence for whoever asked for it; its drafts have failed by that. False when
    it was over."""
    with transaction.atomic():
        halted = WritingRun.objects.filter(pk=run.pk, state__in=WritingRun.UNFINISHED).update(
            state=state, finished_at=timezone.now(), message=sanitize_text(message), n_openings=0
        )
        if halted and run.purpose == WritingRun.Purpose.DRAFTS:
            _fail_drafts([run.pk], message)
        if halted and state == WritingRun.State.FAILED:
            claims.audit_run_end(run.pk)
    return bool(halted)


def fail_run(run: WritingRun, message: str) -> None:
    """End a run that cannot go on. What stops one writer's draft stops the others that wait for it."""
    halt_run(run, state=WritingRun.State.FAILED, message=message)
    if run.purpose == WritingRun.Purpose.DRAFTS:
        waiting = WritingRun.objects.filter(
            writer=run.writer_id, purpose=run.purpose, state=WritingRun.State.QUEUED
        )
        for other in waiting.order_by("pk"):
            halt_run(other, state=WritingRun.State.FAILED, message=message)


def _fail_drafts(run_ids: Sequence[int], message: str) -> None:
    waiting = WritingRow.objects.filter(run__in=run_ids, draft__isnull=False).exclude(
        state=WritingRow.State.DONE
    )
    for draft_id in waiting.order_by("pk").values_list("draft_id", flat=True):
        drafts.store_failure(draft_id, problem=sanitize_text(message))


# What of a writing run was not written or not published, and why; and what it wrote, to be looked at.


ROWS_PER_PAGE = 20


@dataclass(frozen=True)
class FaultCount:
    """Rows that share a reason's code, with the first of them as an example. `written`: there is a text all the same,
    which was not published."""

    code: str
    n: int
    reason: str
    item: str
    written: bool


def count_faults(run: WritingRun) -> list[FaultCount]:
    """The reasons of a run's rows, the most frequent first."""
    faulty = WritingRow.objects.filter(run=run).exclude(fault="")
    groups = faulty.values("fault", "state").annotate(n=Count("pk"), first=Min("pk")).order_by("-n", "fault")
    firsts = faulty.select_related("item_version__item").in_bulk([group["first"] for group in groups])
    return [
        FaultCount(
            group["fault"], group["n"], row.reason, row.item_version.item.external_id,
            written=group["state"] == WritingRow.State.DONE,
        )
        for group in groups
        if (row := firsts.get(group["first"])) is not None
    ]  # fmt: skip


def n_unpublished(run: WritingRun) -> int:
    """Texts that nobody has asked to be published, left out or refused."""
    done = WritingRow.objects.filter(run=run, state=WritingRow.State.DONE, published_at=None, fault="")
    return done.filter(wanted=False).exclude(run__purpose=WritingRun.Purpose.DRAFTS).count()


def list_written_rows(run: WritingRun, *, after: int = 0, fault: str | None = None) -> list[WritingRow]:
    """A page of what a run has written, or of its rows with a fault, in order, with their items; from the row behind
    `after`, one more than SKIMMED where there are more."""
    rows: QuerySet[WritingRow] = WritingRow.objects.filter(run=run, pk__gt=after)
    rows = rows.filter(state=WritingRow.State.DONE) if fault is None else rows.filter(fault=fault)
    return list(rows.select_related("item_version__item", "system").order_by("pk")[: ROWS_PER_PAGE + 1])
