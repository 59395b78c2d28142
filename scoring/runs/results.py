"""Scores and faults: stored in one transaction with the run's counters, and read back."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from django.db import DataError, connection, transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from annotation.models import Study
from scoring.metrics.contract import Fault, Outcome
from scoring.models import Score, ScoringRow, ScoringRun
from scoring.runs.claims import SCORING
from scoring.runs.engine import sanitize_text

_CODE_LENGTH = 40
# What another worker has taken over is not ours to settle.
_LOCK_CLAIMED_ROWS = """
SELECT id, candidate_id, other_id FROM scoring_scoringrow
WHERE id = ANY(%(rows)s::bigint[]) AND claim = %(claim)s AND state = 2
ORDER BY id FOR UPDATE
"""
_SET_DONE = """
UPDATE scoring_scoringrow SET state = 3, claim = NULL, lease_expires_at = NULL WHERE id = ANY(%(rows)s::bigint[])
"""
_SET_FAILED = """
UPDATE scoring_scoringrow r
SET state = 4, claim = NULL, lease_expires_at = NULL, fault = found.code, reason = found.reason
FROM unnest(%(rows)s::bigint[], %(codes)s::text[], %(reasons)s::text[]) AS found (id, code, reason)
WHERE r.id = found.id
"""
_log = logging.getLogger(__name__)


class _Unit(NamedTuple):
    row: int
    candidate: int
    other: int | None


def store_outcomes(
    run: ScoringRun, claim: int, outcomes: Sequence[Outcome], *, scored_elsewhere: Sequence[int] = ()
) -> None:
    """Store outcomes by row. Those whose rows another worker has taken over change nothing. Safe to repeat."""
    try:
        _store_batch(run, claim, outcomes, scored_elsewhere)
    except (DataError, TypeError, ValueError) as error:
        # Something in it cannot be written. Told apart by halving, like what cannot be computed.
        if len(outcomes) > 1:
            middle = len(outcomes) // 2
            store_outcomes(run, claim, outcomes[:middle], scored_elsewhere=scored_elsewhere)
            store_outcomes(run, claim, outcomes[middle:])
            return
        if not outcomes or outcomes[0].fault:
            raise
        _log.error("A score could not be written", exc_info=error)
        fault = Fault("unforeseen", f"The score could not be written: {type(error).__name__}: {error}"[:500])
        _store_batch(run, claim, [Outcome(outcomes[0].key, fault=fault)], scored_elsewhere)


@transaction.atomic
def _store_batch(
    run: ScoringRun, claim: int, outcomes: Sequence[Outcome], scored_elsewhere: Sequence[int]
) -> None:
    by_row: dict[int, Outcome | None] = dict.fromkeys(scored_elsewhere)
    by_row |= {outcome.key: _with_fault_if_empty(outcome) for outcome in outcomes}
    with connection.cursor() as cursor:
        cursor.execute(_LOCK_CLAIMED_ROWS, {"rows": list(by_row), "claim": claim})
        held = [_Unit(*row) for row in cursor.fetchall()]
        _add_scores(run, [(unit, outcome) for unit in held if (outcome := by_row[unit.row])])
        faults = {unit.row: outcome.fault for unit in held if (outcome := by_row[unit.row]) and outcome.fault}
        cursor.execute(_SET_DONE, {"rows": [unit.row for unit in held if unit.row not in faults]})
        cursor.execute(
            _SET_FAILED,
            {
                "rows": list(faults),
                "codes": [sanitize_text(fault.code)[:_CODE_LENGTH] for fault in faults.values()],
                "reasons": [sanitize_text(fault.message) for fault in faults.values()],
            },
        )
    if held:
        SCORING.add_to_counters(run.pk, n_done=len(held) - len(faults), n_failed=len(faults))


def _with_fault_if_empty(outcome: Outcome) -> Outcome:
    if outcome.readings or outcome.fault:
        return outcome
    return Outcome(outcome.key, fault=Fault("no_answer", "The scorer gave no value for this one."))


def _add_scores(run: ScoringRun, settled: Iterable[tuple[_Unit, Outcome]]) -> None:
    assert run.scorer is not None
    now = timezone.now()
    scores = [
        Score(
            scorer=run.scorer,
            candidate_id=unit.candidate,
            other_id=unit.other,
            output=output,
            value=float(reading.value),
            distribution=sanitize_json(reading.distribution),
            provenance=sanitize_json(reading.provenance),
            created_at=now,
        )
        # In one order everywhere, so that two runs of one scorer wait for each other and never in a circle.
        for unit, outcome in sorted(settled, key=lambda pair: (pair[0].candidate, pair[0].other or 0))
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


def sanitize_json(value: Any) -> Any:
    """As JSON in PostgreSQL can hold it: no infinities, no NUL, nothing of numpy's or torch's."""
    if isinstance(value, Mapping):
        return {sanitize_text(str(key)): sanitize_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [sanitize_json(each) for each in value]
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return sanitize_text(value)
    if hasattr(value, "item"):
        return sanitize_json(value.item())
    return float(value) if math.isfinite(value) else None


_DIGEST_LENGTH = 64


def study_scores(study: Study, *, scorer: str = "") -> QuerySet[Any]:
    """A study's scores, with the names of what they are about; of one scorer, by name or by a version's digest."""
    scores = Score.objects.filter(candidate__item_version__item__study=study)
    if scorer:
        scores = scores.filter(
            **{"scorer__digest" if len(scorer) == _DIGEST_LENGTH else "scorer__key": scorer}
        )
    return scores.annotate(
        key=F("scorer__key"),
        digest=F("scorer__digest"),
        item=F("candidate__item_version__item__external_id"),
        version_number=F("candidate__item_version__number"),
        system=F("candidate__system__name"),
        take=F("candidate__take"),
        other_system=F("other__system__name"),
        other_take=F("other__take"),
    )


def failed_rows(run: ScoringRun) -> QuerySet[Any]:
    """A run's failed rows with the names of what they are about."""
    return ScoringRow.objects.filter(run=run, state=ScoringRow.State.FAILED).annotate(
        item=F("candidate__item_version__item__external_id"),
        system=F("candidate__system__name"),
        take=F("candidate__take"),
        other_system=F("other__system__name"),
    )
