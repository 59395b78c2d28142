"""Keeping what a batch came to: scores, faults and counters in one transaction, and only what is still in our hands."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import DataError, transaction
from django.utils import timezone

from scoring.metrics.contract import Fault, Outcome
from scoring.models import Score, ScoringRow, ScoringRun
from scoring.services import claims

_log = logging.getLogger(__name__)


def store(
    run: ScoringRun, claim: int, outcomes: Sequence[Outcome], *, scored_elsewhere: Sequence[int] = ()
) -> None:
    """Store outcomes by row. Those whose rows another worker has taken over change nothing. Safe to repeat."""
    try:
        _store(run, claim, outcomes, scored_elsewhere)
    except (DataError, TypeError, ValueError) as error:
        # Something in it cannot be written. Told apart by halving, like what cannot be computed.
        if len(outcomes) > 1:
            middle = len(outcomes) // 2
            store(run, claim, outcomes[:middle], scored_elsewhere=scored_elsewhere)
            store(run, claim, outcomes[middle:])
            return
        if not outcomes or outcomes[0].fault:
            raise
        _log.error("A score could not be written", exc_info=error)
        fault = Fault("unforeseen", f"The score could not be written: {type(error).__name__}: {error}"[:500])
        _store(run, claim, [Outcome(outcomes[0].key, fault=fault)], scored_elsewhere)


@transaction.atomic
def _store(run: ScoringRun, claim: int, outcomes: Sequence[Outcome], scored_elsewhere: Sequence[int]) -> None:
    by_row = {outcome.key: outcome for outcome in outcomes}
    held = {
        row.pk: row
        for row in ScoringRow.objects.select_for_update()
        .filter(pk__in=[*by_row, *scored_elsewhere], claim=claim, state=ScoringRow.State.CLAIMED)
        .order_by("pk")
    }
    _add_scores(run, [(row, by_row[pk]) for pk, row in held.items() if pk in by_row])
    for pk, row in held.items():
        fault = by_row[pk].fault if pk in by_row else None
        row.state = ScoringRow.State.FAILED if fault else ScoringRow.State.DONE
        row.fault, row.reason = (fault.code[:40], _text(fault.message)) if fault else ("", "")
        row.claim = row.lease_expires_at = None
    ScoringRow.objects.bulk_update(
        held.values(), ["state", "fault", "reason", "claim", "lease_expires_at"], batch_size=500
    )
    n_failed = sum(row.state == ScoringRow.State.FAILED for row in held.values())
    if held:
        claims.settle(run.pk, n_done=len(held) - n_failed, n_failed=n_failed)


def _add_scores(run: ScoringRun, settled: Iterable[tuple[ScoringRow, Outcome]]) -> None:
    assert run.scorer is not None
    now = timezone.now()
    scores = [
        Score(
            scorer=run.scorer,
            candidate_id=row.candidate_id,
            other_id=row.other_id,
            output=output,
            value=reading.value,
            distribution=_plain(reading.distribution),
            provenance=_plain(reading.provenance),
            created_at=now,
        )
        # In one order everywhere, so that two runs of one scorer wait for each other and never in a circle.
        for row, outcome in sorted(settled, key=lambda pair: (pair[0].candidate_id, pair[0].other_id or 0))
        if outcome.fault is None
        for output, reading in sorted(outcome.readings.items())
    ]
    if run.again:
        Score.objects.bulk_create(
            scores,
            update_conflicts=True,
            unique_fields=["scorer", "candidate", "other", "output"],
            update_fields=["value", "distribution", "provenance", "created_at"],
        )
    else:
        Score.objects.bulk_create(scores, ignore_conflicts=True)


def _plain(value: Any) -> Any:
    """As JSON in PostgreSQL can hold it: no infinities, no NUL, nothing of numpy's or torch's."""
    if isinstance(value, Mapping):
        return {_text(str(key)): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return _text(value)
    if hasattr(value, "item"):
        return _plain(value.item())
    return float(value) if math.isfinite(value) else None


def _text(text: str) -> str:
    return text.replace("\x00", "\ufffd")
