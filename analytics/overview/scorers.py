"""Scorer coverage of a study, failed rows of a scoring run, and score distributions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Max, Sum

from analytics.data.postgres import fetch_rows
from annotation.models import Study, System
from scoring.metrics import registry
from scoring.metrics.registry import Reads
from scoring.models import Scorer, ScoringRun
from scoring.runs import results

# For each candidate and scorer there is one look into the scores' index; more would keep the page waiting.
MOST_INDEX_LOOKUPS = 20_000
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
class ScorerCoverage:
    """`n_candidates`: those there are to score; None where they are too many to count."""

    rows: tuple[ScorerRow, ...] = ()
    n_candidates: int | None = None


def scorer_coverage(study: Study) -> ScorerCoverage:
    """The newest scorer first, by four queries."""
    runs = ScoringRun.objects.filter(study=study, scorer__isnull=False)
    totals = {row["scorer"]: row for row in runs.values("scorer").annotate(last=Max("pk"), n=Sum("n_done"))}
    if not totals:
        return ScorerCoverage()
    most = MOST_INDEX_LOOKUPS // len(totals)
    counting = f"SELECT count(*) FROM ({_CURRENT} LIMIT %(limit)s) found"
    n_candidates = int(fetch_rows(counting, study=study.pk, limit=most + 1)[0][0])
    countable = n_candidates <= most
    covered = dict(fetch_rows(_COVERED, study=study.pk, scorers=sorted(totals))) if countable else {}
    latest = ScoringRun.objects.select_related("scorer").filter(
        pk__in=[row["last"] for row in totals.values()]
    )
    rows = [
        ScorerRow(scorer, run, totals[scorer.pk]["n"], covered.get(scorer.pk))
        for run in latest.order_by("-pk")
        if (scorer := run.scorer) is not None
    ]
    return ScorerCoverage(tuple(rows), n_candidates if countable else None)


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


@dataclass(frozen=True)
class StudyParts:
    """What a study can be divided by: its judged systems, and the strata of its first items with their values."""

    systems: tuple[str, ...]
    strata: tuple[tuple[str, str], ...]


_STRATA = """
SELECT DISTINCT pair.key, pair.value FROM (
    SELECT strata FROM annotation_item WHERE study_id = %(study)s AND strata <> '{}'::jsonb ORDER BY id LIMIT %(items)s
) item, jsonb_each_text(item.strata) pair
ORDER BY pair.key, pair.value LIMIT %(strata)s
"""


def study_parts(study: Study) -> StudyParts:
    judged = System.objects.filter(study=study, role=System.Role.JUDGED).order_by("name")
    rows = fetch_rows(_STRATA, study=study.pk, items=ITEMS_READ, strata=STRATA_SHOWN)
    strata = tuple((key, value) for key, value in rows if value is not None)
    return StudyParts(tuple(judged.values_list("name", flat=True)), strata)


# One scoring run looked at closely: what could not be scored, and how the scores lie.


ROWS_PER_PAGE = 50
ROWS_DRAWN = 10_000
BINS = 20


@dataclass(frozen=True)
class FailedRow:
    """`figures`: of the candidate, or of the two of a pair."""

    pk: int
    item: str
    systems: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class FailedPage:
    """`next_after` is the `after` of the next page; None on the last."""

    rows: tuple[FailedRow, ...]
    next_after: int | None


@dataclass(frozen=True)
class ScoreDistribution:
    """The scores of one output. `bins` are counts over equal steps from `low` to `high`; `sd` needs two scores."""

    output: str
    n: int
    mean: float
    sd: float | None
    smallest: float
    largest: float
    low: float
    high: float
    bins: tuple[int, ...]


def failed_rows(run: ScoringRun, *, fault: str = "", after: int = 0) -> FailedPage:
    """Rows without a score, by id, from the one after `after`; all faults where none is named."""
    rows: Any = results.failed_rows(run).filter(
        pk__gt=after
    )  # annotated with names, which its type does not say
    if fault:
        rows = rows.filter(fault=fault)
    values = rows.order_by("pk").values_list("pk", "item", "system", "other_system", "reason")
    page_rows = [
        FailedRow(pk, item, tuple(filter(None, (system, other))), reason)
        for pk, item, system, other, reason in values[: ROWS_PER_PAGE + 1]
    ]
    next_after = page_rows[ROWS_PER_PAGE - 1].pk if len(page_rows) > ROWS_PER_PAGE else None
    return FailedPage(tuple(page_rows[:ROWS_PER_PAGE]), next_after)


# The rows come in the order of an index, so that a limit bounds what is read. Shares and probabilities are drawn over
# 0 to 1 wherever they lie in it: two scorers are then seen on one scale.
_SCORE_DISTRIBUTIONS = """
WITH units AS (
    SELECT candidate_id, other_id FROM scoring_scoringrow
    WHERE run_id = %(run)s AND state = 3 ORDER BY candidate_id LIMIT %(rows)s
), found AS (
    SELECT score.output, score.value FROM units
    JOIN scoring_score score ON score.scorer_id = %(scorer)s AND score.candidate_id = units.candidate_id
        AND score.other_id IS NOT DISTINCT FROM units.other_id
    WHERE score.value IS NOT NULL
), ends AS (
    SELECT output, count(*) AS n, avg(value) AS mean, stddev_samp(value) AS sd,
        min(value) AS smallest, max(value) AS largest,
        CASE WHEN min(value) >= 0 AND max(value) <= 1 THEN 0 ELSE floor(min(value)) END AS low,
        CASE WHEN min(value) >= 0 AND max(value) <= 1 THEN 1
             ELSE greatest(ceil(max(value)), floor(min(value)) + 1) END AS high
    FROM found GROUP BY output
)
SELECT output, n, mean, sd, smallest, largest, low, high,
    least(width_bucket(value, low, high, %(bins)s), %(bins)s) AS bin, count(*)
FROM found JOIN ends USING (output)
GROUP BY output, n, mean, sd, smallest, largest, low, high, bin ORDER BY output, bin
"""


def score_distributions(run: ScoringRun) -> list[ScoreDistribution]:
    """How the scores of a run's first 10,000 rows lie, for each output, by one query."""
    if run.scorer_id is None:
        return []
    moments: dict[str, list[Any]] = {}
    bins: dict[str, list[int]] = {}
    params = {"run": run.pk, "scorer": run.scorer_id, "rows": ROWS_DRAWN, "bins": BINS}
    for output, *summary, bin, n in fetch_rows(_SCORE_DISTRIBUTIONS, **params):
        moments[output] = summary
        bins.setdefault(output, [0] * BINS)[bin - 1] = n
    distributions = []
    for output, (n, mean, sd, smallest, largest, low, high) in moments.items():
        ends = (smallest, largest, low, high)
        distributions.append(ScoreDistribution(output, n, mean, sd, *ends, tuple(bins[output])))
    return distributions
