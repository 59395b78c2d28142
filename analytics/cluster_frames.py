"""Value counts of the units of a question, told apart by what units share: the door for intervals by clusters.

Items about the same prompt or question are not independent of each other, whatever they are called.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from django.db import connection

from analytics.first_votes import among_first
from analytics.frames import COUNTED, Counted, CountRow, on_scale
from analytics.questions import MeasuredQuestion

_ROWS = f"""
SELECT prompt, given, count(*) FROM (
    SELECT a.task_id, array_agg({{value}} ORDER BY {{value}})::float8[] AS given
    {COUNTED} AND {{value}} IS NOT NULL {{first}}
    GROUP BY a.task_id, a.candidate_id
) AS unit JOIN (
    SELECT t.id, hashtextextended(coalesce(nullif(v.prompt, ''), nullif(v.question, ''), v.item_id::text), 0) AS prompt
    FROM annotation_task t JOIN annotation_itemversion v ON v.id = t.item_version_id WHERE t.study_id = %(study)s
) AS task ON task.id = unit.task_id
GROUP BY prompt, given
"""


@dataclass(frozen=True)
class ClusteredCounts:
    """`clusters` has the number of each row's prompt."""

    counted: Counted
    clusters: list[int]


def count_rows_by_prompt(question: MeasuredQuestion) -> ClusteredCounts:
    """As `frames.count_rows`, but units with equal counts are one row only where they share their prompt."""
    sql = _ROWS.format(value="a.choice" if question.is_preference else "a.value", first=among_first(question))
    with connection.cursor() as cursor:
        cursor.execute(sql, {"questions": list(question.ids), "study": question.study_id})
        rows = cursor.fetchall()
    counts: list[CountRow] = [(Counter(given), units) for _, given, units in rows]
    return ClusteredCounts(on_scale(counts, question.categories), [prompt for prompt, _, _ in rows])
