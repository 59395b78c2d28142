"""What could not be scored in a run, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import F, QuerySet

from scoring.models import ScoringRow, ScoringRun

# Pages ask while a run goes on, every few seconds.
COUNTED = 10_000

_COUNT = """
SELECT fault, count(*), min(id) FROM (
    SELECT id, fault FROM scoring_scoringrow WHERE run_id = %s AND state = 4 ORDER BY id LIMIT %s
) looked_at
GROUP BY fault ORDER BY count(*) DESC, fault
"""


@dataclass(frozen=True)
class FaultCount:
    """Rows that failed for one reason, with the first of them as an example. `at_least`: `n` is of the first COUNTED
    rows that failed in the run, and more failed than these; say "more than", or of how many it was counted."""

    code: str
    n: int
    reason: str
    item: str
    system: str
    at_least: bool = False


def counted(run: ScoringRun) -> list[FaultCount]:
    """The reasons of a run's first COUNTED failed rows, the most frequent first."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, [run.pk, COUNTED])
        groups = cursor.fetchall()
    more = run.n_failed > sum(n for _, n, _ in groups) >= COUNTED
    firsts = {row.pk: row for row in failed(run).filter(pk__in=[first for _, _, first in groups])}
    found = []
    for code, n, first in groups:
        # A retry may have taken it away between the two queries.
        if (row := firsts.get(first)) is not None:
            found.append(FaultCount(code, n, row.reason, row.item, row.system, at_least=more))
    return found


def failed(run: ScoringRun) -> QuerySet[Any]:
    """A run's failed rows with the names of what they are about."""
    return ScoringRow.objects.filter(run=run, state=ScoringRow.State.FAILED).annotate(
        item=F("candidate__item_version__item__external_id"),
        system=F("candidate__system__name"),
        take=F("candidate__take"),
        other_system=F("other__system__name"),
    )
