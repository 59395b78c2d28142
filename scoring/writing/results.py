"""Results of a writing run: texts, drafts and faults stored row by row, counted and listed."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotation.review import drafts
from scoring.metrics.contract import ExampleError
from scoring.models import WritingRow, WritingRun
from scoring.runs.engine import sanitize_text
from scoring.writing.claims import WRITING
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
def _store_row(run: WritingRun, claim: int, row_id: int, outcome: Text | ExampleError) -> None:
    held = WritingRow.objects.select_related("item_version", "system").select_for_update(of=("self",))
    row = held.filter(pk=row_id, claim=claim, state=WritingRow.State.CLAIMED).first()
    if row is None:
        return
    settled = (
        _save_fault(row, outcome) if isinstance(outcome, ExampleError) else _save_text(run, row, outcome)
    )
    WRITING.add_to_counters(run.pk, **settled)


def _save_text(run: WritingRun, row: WritingRow, text: Text) -> dict[str, int]:
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
    return {
        "n_done": 1, "n_published": int(published),
        "prompt_tokens": text.prompt_tokens, "completion_tokens": text.completion_tokens,
    }  # fmt: skip


def _save_fault(row: WritingRow, error: ExampleError) -> dict[str, int]:
    row.state, row.claim, row.lease_expires_at = WritingRow.State.FAILED, None, None
    row.fault, row.reason = error.fault.code[:_CODE_LENGTH], sanitize_text(error.fault.message)
    row.save(update_fields=["state", "claim", "lease_expires_at", "fault", "reason"])
    if row.draft_id is not None:
        drafts.store_failure(row.draft_id, problem=row.reason)
    return {"n_failed": 1}


ROWS_PER_PAGE = 20


def n_unpublished(run: WritingRun) -> int:
    """Texts that nobody has asked to be published, left out or refused."""
    done = WritingRow.objects.filter(run=run, state=WritingRow.State.DONE, published_at=None, fault="")
    return done.filter(wanted=False).exclude(run__purpose=WritingRun.Purpose.DRAFTS).count()


def written_rows(run: WritingRun, *, fault: str | None = None) -> QuerySet[WritingRow]:
    """What a run has written, or its rows with a fault, with their items."""
    rows = WritingRow.objects.filter(run=run).select_related("item_version__item", "system")
    return rows.filter(fault=fault) if fault else rows.filter(state=WritingRow.State.DONE)


def list_written_rows(run: WritingRun, *, after: int = 0, fault: str | None = None) -> list[WritingRow]:
    """A page of them from the row behind `after`; one more than ROWS_PER_PAGE where there are more."""
    return list(written_rows(run, fault=fault).filter(pk__gt=after).order_by("pk")[: ROWS_PER_PAGE + 1])
