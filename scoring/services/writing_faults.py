"""What of a writing run was not written or not published, and why; and what it wrote, to be looked at."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Min, QuerySet

from scoring.models import WritingRow, WritingRun

SKIMMED = 20


@dataclass(frozen=True)
class FaultCount:
    """Rows that share a reason's code, with the first of them as an example. `written`: there is a text all the same,
    which was not published."""

    code: str
    n: int
    reason: str
    item: str
    written: bool


def counted(run: WritingRun) -> list[FaultCount]:
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


def n_waiting(run: WritingRun) -> int:
    """Texts that nobody has asked to be published, left out or refused."""
    done = WritingRow.objects.filter(run=run, state=WritingRow.State.DONE, published_at=None, fault="")
    return done.filter(wanted=False).exclude(run__purpose=WritingRun.Purpose.DRAFTS).count()


def written(run: WritingRun, *, after: int = 0, fault: str | None = None) -> list[WritingRow]:
    """A page of what a run has written, or of its rows with a fault, in order, with their items; from the row behind
    `after`, one more than SKIMMED where there are more."""
    rows: QuerySet[WritingRow] = WritingRow.objects.filter(run=run, pk__gt=after)
    rows = rows.filter(state=WritingRow.State.DONE) if fault is None else rows.filter(fault=fault)
    return list(rows.select_related("item_version__item", "system").order_by("pk")[: SKIMMED + 1])
