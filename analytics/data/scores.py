"""Stored scores as arrays, with the mean ratings and preference leads of the same candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analytics.data.counted_judgments import COUNTED_ANSWERS_SQL
from analytics.data.postgres import fetch_rows
from analytics.data.questions import MeasuredQuestion
from analytics.statistics.arrays import FloatArray, IntArray
from annotation.models import Answer, Study
from scoring.models import Scorer

_SCORES = """
SELECT s.candidate_id, s.other_id, v.item_id, array_agg(s.output ORDER BY s.id), array_agg(s.value ORDER BY s.id)
FROM scoring_score s
JOIN annotation_candidate c ON c.id = s.candidate_id
JOIN annotation_itemversion v ON v.id = c.item_version_id
JOIN annotation_item i ON i.id = v.item_id
WHERE s.scorer_id = %(scorer)s AND i.study_id = %(study)s
GROUP BY s.candidate_id, s.other_id, v.item_id ORDER BY s.candidate_id, s.other_id
"""

_RATINGS = f"""
WITH unit AS (
    SELECT a.task_id, a.candidate_id, count(a.value) AS n, sum(a.value) AS total
    {COUNTED_ANSWERS_SQL} AND a.value IS NOT NULL
    GROUP BY a.task_id, a.candidate_id
)
SELECT coalesce(u.candidate_id, k.candidate_id) AS candidate, sum(u.total) / sum(u.n)
FROM unit u LEFT JOIN annotation_taskcandidate k ON k.task_id = u.task_id AND k.slot = 0
GROUP BY 1 ORDER BY 1
"""

# Votes for the candidate that was there first, less votes for the other: tasks may show a pair either way round.
_PREFERENCE_LEADS = f"""
WITH unit AS (
    SELECT a.task_id, count(*) FILTER (WHERE a.choice = {Answer.Choice.FIRST:d})
                    - count(*) FILTER (WHERE a.choice = {Answer.Choice.SECOND:d}) AS lead
    {COUNTED_ANSWERS_SQL} AND a.choice IS NOT NULL
    GROUP BY a.task_id
)
SELECT least(k0.candidate_id, k1.candidate_id), greatest(k0.candidate_id, k1.candidate_id),
       sum(CASE WHEN k0.candidate_id < k1.candidate_id THEN u.lead ELSE -u.lead END)::bigint
FROM unit u
JOIN annotation_taskcandidate k0 ON k0.task_id = u.task_id AND k0.slot = 0
JOIN annotation_taskcandidate k1 ON k1.task_id = u.task_id AND k1.slot = 1
GROUP BY 1, 2 ORDER BY 1, 2
"""

_NAMES = """
SELECT c.id, i.external_id, s.name FROM annotation_candidate c
JOIN annotation_itemversion v ON v.id = c.item_version_id JOIN annotation_item i ON i.id = v.item_id
JOIN annotation_system s ON s.id = c.system_id WHERE c.id = ANY(%(candidates)s)
"""


@dataclass(frozen=True)
class Scores:
    """What one scorer gave in one study: a row per candidate, or per pair of candidates where `others` is not 0.

    values: (rows, outputs), NaN where an output is missing. items: what rows of one item share.
    """

    candidates: IntArray
    others: IntArray
    items: IntArray
    outputs: tuple[str, ...]
    values: FloatArray


def load_scores(study: Study, scorer: Scorer) -> Scores:
    """By one query. Outputs come in the order in which they were first stored."""
    rows = fetch_rows(_SCORES, study=study.pk, scorer=scorer.pk)
    outputs = tuple(dict.fromkeys(name for row in rows for name in row[3]))
    place = {name: number for number, name in enumerate(outputs)}
    values = np.full((len(rows), len(outputs)), np.nan)
    for number, row in enumerate(rows):
        for name, value in zip(row[3], row[4], strict=True):
            values[number, place[name]] = np.nan if value is None else value
    candidates, others, items = (np.array([row[k] or 0 for row in rows], dtype=np.int64) for k in range(3))
    return Scores(candidates, others, items, outputs, values)


def mean_ratings(question: MeasuredQuestion) -> dict[int, float]:
    """The mean rating of each candidate; none for a question asked once about several candidates together."""
    if not (question.per_candidate or question.one_candidate):
        return {}
    return dict(fetch_rows(_RATINGS, questions=list(question.ids), study=question.study_id))


def preference_leads(question: MeasuredQuestion) -> dict[tuple[int, int], int]:
    """By pair of candidates, the one that was there first as the first: votes for it less votes for the other. Ties
    and "both bad" are votes for neither."""
    rows = fetch_rows(_PREFERENCE_LEADS, questions=list(question.ids), study=question.study_id)
    return {(first, second): lead for first, second, lead in rows}


def candidate_names(candidates: Sequence[int]) -> dict[int, tuple[str, str]]:
    """The item and the system of each of these candidates."""
    rows = fetch_rows(_NAMES, candidates=list(candidates))
    return {candidate: (item, system) for candidate, item, system in rows}
