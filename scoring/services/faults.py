"""What could not be scored in a run, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, Min, QuerySet

from scoring.models import ScoringRow, ScoringRun


@dataclass(frozen=True)
class FaultCount:
    """Rows that failed for one reason, with the first of them as an example."""

    code: str
    n: int
    reason: str
    item: str
    system: str


def counted(run: ScoringRun) -> list[FaultCount]:
    """The reasons of a run's failed rows, the most frequent first."""
    groups = list(
        failed(run)
        .order_by()
        .values("fault")
        .annotate(n=Count("pk"), first=Min("pk"))
        .order_by("-n", "fault")
    )
    firsts = {row.pk: row for row in failed(run).filter(pk__in=[group["first"] for group in groups])}
    found = []
    for group in groups:
        # A retry may have taken it away between the two queries.
        if (row := firsts.get(group["first"])) is not None:
            found.append(FaultCount(row.fault, group["n"], row.reason, row.item, row.system))
    return found


def failed(run: ScoringRun) -> QuerySet[Any]:
    """A run's failed rows with the names of what they are about."""
    return ScoringRow.objects.filter(run=run, state=ScoringRow.State.FAILED).annotate(
        item=F("candidate__item_version__item__external_id"),
        system=F("candidate__system__name"),
        take=F("candidate__take"),
        other_system=F("other__system__name"),
    )
