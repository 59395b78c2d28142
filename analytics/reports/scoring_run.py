"""One scoring run looked at closely: what could not be scored, and how the scores lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import connection

from scoring.models import ScoringRun
from scoring.services import faults

ROWS_PER_PAGE = 50
ROWS_DRAWN = 10_000
BINS = 20


@dataclass(frozen=True)
class FailedRow:
    """`systems`: of the candidate, or of the two of a pair."""

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
class Distribution:
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


def failed_rows(
    run: ScoringRun, *, fault: str = "", after: int = 0, limit: int = ROWS_PER_PAGE
) -> FailedPage:
    """Rows without a score, by id, from the one after `after`; all faults where none is named."""
    rows: Any = faults.failed(run).filter(pk__gt=after)  # annotated with names, which its type does not say
    if fault:
        rows = rows.filter(fault=fault)
    wanted = rows.order_by("pk").values_list("pk", "item", "system", "other_system", "reason")
    found = [
        FailedRow(pk, item, tuple(filter(None, (system, other))), reason)
        for pk, item, system, other, reason in wanted[: limit + 1]
    ]
    return FailedPage(tuple(found[:limit]), found[limit - 1].pk if len(found) > limit else None)


# The rows come in the order of an index, so that a limit bounds what is read. Shares and probabilities are drawn over
# 0 to 1 wherever they lie in it: two scorers are then seen on one scale.
_DISTRIBUTIONS = """
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


def distributions(run: ScoringRun) -> list[Distribution]:
    """How the scores of a run's first 10,000 rows lie, for each output, by one query."""
    if run.scorer_id is None:
        return []
    wanted = {"run": run.pk, "scorer": run.scorer_id, "rows": ROWS_DRAWN, "bins": BINS}
    outputs: dict[str, tuple[float, ...]] = {}
    bins: dict[str, list[int]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_DISTRIBUTIONS, wanted)
        for output, *figures, bin, n in cursor.fetchall():
            outputs[output] = tuple(figures)
            bins.setdefault(output, [0] * BINS)[bin - 1] = n
    return [_distribution(output, figures, bins[output]) for output, figures in outputs.items()]


def _distribution(output: str, figures: tuple[float, ...], bins: list[int]) -> Distribution:
    n, mean, sd, smallest, largest, low, high = figures
    return Distribution(output, int(n), mean, sd, smallest, largest, low, high, tuple(bins))
