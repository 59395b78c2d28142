"""What has scored a study, from the counters that its runs keep: no score is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Max, Q, Sum

from annotation.models import Candidate, Item, Study, System
from scoring.metrics import registry
from scoring.metrics.entries import Reads
from scoring.models import Scorer, ScoringRun

# Counting more candidates than this would keep the page waiting; beyond it a study has "more than".
COUNTED = 100_000
ITEMS_READ = 20_000
STRATA_SHOWN = 200


@dataclass(frozen=True)
class ScorerRow:
    """One scorer version. `n_scored`: what its runs scored; `latest` is the newest of them in this study."""

    scorer: Scorer
    latest: ScoringRun
    n_scored: int

    @property
    def reads_pairs(self) -> bool:
        entry = registry.METRICS.get(self.scorer.key)
        return entry is not None and entry.reads == Reads.PAIR


def scorers_of(study: Study) -> list[ScorerRow]:
    """The newest first, by two queries.

    A run that leaves out what has a score adds to what others scored; one that scores again does not.
    """
    found = {row["scorer"]: row for row in _sums(study)}
    latest = ScoringRun.objects.select_related("scorer").filter(
        pk__in=[row["last"] for row in found.values()]
    )
    return [
        ScorerRow(run.scorer, run, _n_scored(found[run.scorer_id]))
        for run in latest.order_by("-pk")
        if run.scorer is not None
    ]


def n_candidates(study: Study) -> int:
    """The judged systems' candidates for the items as they are now, up to one more than COUNTED."""
    current = Candidate.objects.filter(
        system__role=System.Role.JUDGED,
        item_version__in=Item.objects.filter(study=study, state=Item.State.ACTIVE).values("current_version"),
    )
    return current.values("pk")[: COUNTED + 1].count()


@dataclass(frozen=True)
class Parts:
    """What a study can be divided by: its judged systems, and the strata of its first items with their values."""

    systems: tuple[str, ...]
    strata: tuple[tuple[str, str], ...]


_STRATA = """
SELECT DISTINCT pair.key, pair.value FROM (
    SELECT strata FROM annotation_item WHERE study_id = %s AND strata <> '{}'::jsonb ORDER BY id LIMIT %s
) item, jsonb_each_text(item.strata) pair
ORDER BY pair.key, pair.value LIMIT %s
"""


def parts_of(study: Study) -> Parts:
    judged = System.objects.filter(study=study, role=System.Role.JUDGED).order_by("name")
    with connection.cursor() as cursor:
        cursor.execute(_STRATA, [study.pk, ITEMS_READ, STRATA_SHOWN])
        strata = tuple((key, value) for key, value in cursor.fetchall() if value is not None)
    return Parts(tuple(judged.values_list("name", flat=True)), strata)


def _sums(study: Study) -> Any:
    once, again = Q(again=False), Q(again=True)
    return (
        ScoringRun.objects.filter(study=study, scorer__isnull=False)
        .values("scorer")
        .annotate(last=Max("pk"), added=Sum("n_done", filter=once), repeated=Max("n_done", filter=again))
    )


def _n_scored(sums: Mapping[str, Any]) -> int:
    return max(sums["added"] or 0, sums["repeated"] or 0)
