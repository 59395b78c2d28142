"""What has scored a study, and how much of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection
from django.db.models import Max, Sum

from annotation.models import Study, System
from scoring.metrics import registry
from scoring.metrics.entries import Reads
from scoring.models import Scorer, ScoringRun

# For each candidate and scorer there is one look into the scores' index; more would keep the page waiting.
LOOKS = 20_000
ITEMS_READ = 20_000
STRATA_SHOWN = 200


@dataclass(frozen=True)
class ScorerRow:
    """One scorer version; `latest` is the newest of its runs in this study. `n_run`: rows that its runs scored, those
    of replaced versions among them, and what was scored again more than once. `n_scored`: current candidates (or pairs
    of them) that have its score; None where there are too many to count at once."""

    scorer: Scorer
    latest: ScoringRun
    n_run: int
    n_scored: int | None

    @property
    def reads_pairs(self) -> bool:
        entry = registry.METRICS.get(self.scorer.key)
        return entry is not None and entry.reads == Reads.PAIR


@dataclass(frozen=True)
class Scored:
    """`n_candidates`: those there are to score; None where they are too many to count."""

    rows: tuple[ScorerRow, ...] = ()
    n_candidates: int | None = None


def scored(study: Study) -> Scored:
    """The newest scorer first, by four queries."""
    runs = ScoringRun.objects.filter(study=study, scorer__isnull=False)
    found = {row["scorer"]: row for row in runs.values("scorer").annotate(last=Max("pk"), n=Sum("n_done"))}
    if not found:
        return Scored()
    n_candidates = _n_candidates(study, most=LOOKS // len(found))
    covered = {} if n_candidates is None else _covered(study, sorted(found))
    latest = ScoringRun.objects.select_related("scorer").filter(
        pk__in=[row["last"] for row in found.values()]
    )
    rows = [
        ScorerRow(scorer, run, found[scorer.pk]["n"], covered.get(scorer.pk))
        for run in latest.order_by("-pk")
        if (scorer := run.scorer) is not None
    ]
    return Scored(tuple(rows), n_candidates)


# What a run reads: the judged systems' candidates for the items as they are now.
_CURRENT = """
SELECT c.id FROM annotation_item i
JOIN annotation_candidate c ON c.item_version_id = i.current_version_id
JOIN annotation_system s ON s.id = c.system_id
WHERE i.study_id = %(study)s AND i.state = 'active' AND s.role = 'judged'
"""
# Each look goes to the index, whatever else the table of scores holds. Outputs of one score count once.
_COVERED = f"""
WITH current AS MATERIALIZED ({_CURRENT})
SELECT scorer, (
    SELECT count(*) FROM current CROSS JOIN LATERAL (
        SELECT DISTINCT other_id FROM scoring_score
        WHERE scorer_id = scorer AND candidate_id = current.id
    ) unit
) FROM unnest(%(scorers)s::bigint[]) scorer
"""


def _n_candidates(study: Study, *, most: int) -> int | None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(*) FROM ({_CURRENT} LIMIT %(limit)s) found", {"study": study.pk, "limit": most + 1}
        )
        n = int(cursor.fetchone()[0])
    return n if n <= most else None


def _covered(study: Study, scorers: Sequence[int]) -> dict[int, int]:
    with connection.cursor() as cursor:
        cursor.execute(_COVERED, {"study": study.pk, "scorers": list(scorers)})
        return dict(cursor.fetchall())


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
