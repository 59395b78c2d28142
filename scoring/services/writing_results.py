"""Keeping what a batch came to: each row in one transaction with its draft or its item, and its run's counters."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from django.db import transaction
from django.utils import timezone

from annotation.services import drafts
from scoring.metrics.contract import ExampleError
from scoring.models import WritingRow, WritingRun
from scoring.services import writing_claims
from scoring.services.locks import Claimant
from scoring.services.results import storable
from scoring.services.writing_claims import DIED, Settled
from scoring.services.writing_publishing import CUT, provenance, try_publishing
from scoring.writing.contract import Text

_CODE_LENGTH = 40
_log = logging.getLogger(__name__)


def store(run: WritingRun, claim: int, outcomes: Mapping[int, Text | ExampleError]) -> None:
    """Settle rows, one by one. Those that another worker has taken over change nothing. Safe to repeat."""
    for row_id in sorted(outcomes):
        try:
            _settle(run, claim, row_id, outcomes[row_id])
        except (TypeError, ValueError) as error:
            _log.error("A text could not be stored", exc_info=error)
            fault = ExampleError(
                "unforeseen", f"It could not be stored: {type(error).__name__}: {error}"[:500]
            )
            _settle(run, claim, row_id, fault)


@transaction.atomic
def fail_worn_out(run: WritingRun, claimant: Claimant) -> None:
    """What has cost three workers their life fails."""
    for row in WritingRow.objects.filter(pk__in=writing_claims.worn_out(run, claimant)).order_by("pk"):
        writing_claims.settle(run.pk, _fail(row, ExampleError("worker_died", DIED)))


@transaction.atomic
def _settle(run: WritingRun, claim: int, row_id: int, outcome: Text | ExampleError) -> None:
    held = WritingRow.objects.select_related("item_version", "system").select_for_update(of=("self",))
    row = held.filter(pk=row_id, claim=claim, state=WritingRow.State.CLAIMED).first()
    if row is None:
        return
    settled = _fail(row, outcome) if isinstance(outcome, ExampleError) else _keep(run, row, outcome)
    writing_claims.settle(run.pk, settled)


def _keep(run: WritingRun, row: WritingRow, text: Text) -> Settled:
    row.state, row.claim, row.lease_expires_at = WritingRow.State.DONE, None, None
    row.text, row.cut = storable(text.text), text.cut
    row.prompt_tokens, row.completion_tokens = text.prompt_tokens, text.completion_tokens
    row.seconds, row.written_at = text.seconds, timezone.now()
    is_draft = row.draft_id is not None
    row.fault, row.reason = ("cut", CUT) if row.cut and not is_draft else ("", "")
    row.save()
    if row.draft_id is not None:
        drafts.propose(row.draft_id, text=row.text, provenance=provenance(run, row))
    published = run.publishes and not row.fault and try_publishing(run, row)
    return Settled(done=1, published=int(published), read=text.prompt_tokens, written=text.completion_tokens)


def _fail(row: WritingRow, error: ExampleError) -> Settled:
    row.state, row.claim, row.lease_expires_at = WritingRow.State.FAILED, None, None
    row.fault, row.reason = error.fault.code[:_CODE_LENGTH], storable(error.fault.message)
    row.save(update_fields=["state", "claim", "lease_expires_at", "fault", "reason"])
    if row.draft_id is not None:
        drafts.fail(row.draft_id, problem=row.reason)
    return Settled(failed=1)


def halt(run: WritingRun, *, state: WritingRun.State, message: str) -> bool:
    """End a run that is not over, with a sentence for whoever asked for it; its drafts have failed by that. False when
    it was over."""
    with transaction.atomic():
        halted = WritingRun.objects.filter(pk=run.pk, state__in=WritingRun.UNFINISHED).update(
            state=state, finished_at=timezone.now(), message=storable(message), n_openings=0
        )
        if halted and run.purpose == WritingRun.Purpose.DRAFTS:
            _fail_drafts([run.pk], message)
        if halted and state == WritingRun.State.FAILED:
            writing_claims.record_end(run.pk)
    return bool(halted)


def fail(run: WritingRun, message: str) -> None:
    """End a run that cannot go on. What stops one writer's draft stops the others that wait for it."""
    halt(run, state=WritingRun.State.FAILED, message=message)
    if run.purpose == WritingRun.Purpose.DRAFTS:
        waiting = WritingRun.objects.filter(
            writer=run.writer_id, purpose=run.purpose, state=WritingRun.State.QUEUED
        )
        for other in waiting.order_by("pk"):
            halt(other, state=WritingRun.State.FAILED, message=message)


def _fail_drafts(run_ids: Sequence[int], message: str) -> None:
    waiting = WritingRow.objects.filter(run__in=run_ids, draft__isnull=False).exclude(
        state=WritingRow.State.DONE
    )
    for draft_id in waiting.order_by("pk").values_list("draft_id", flat=True):
        drafts.fail(draft_id, problem=storable(message))
