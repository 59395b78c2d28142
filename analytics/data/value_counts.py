"""Reliability data as value counts per unit: PostgreSQL counts, so the result grows with the scale, not the votes.

Figures of human judgment rest on independent human answers about the study's own material: `counted` answers
(effective, not excluded, not surplus) to regular tasks, without experts' own judgments. Models' scores are in other
tables. A unit is a task, or one candidate of a task where the question is asked of each.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import connection, transaction

from analytics.data.counted_judgments import COUNTED_ANSWERS_SQL, first_votes_condition
from analytics.data.postgres import copy_columns, fetch_rows
from analytics.data.questions import MeasuredQuestion
from analytics.statistics.arrays import IntArray
from annotation.models import Answer, Study, Task
from annotation.rating import counted

# How often each value was given to a unit, and how many units look like that.
CountRow = tuple[Mapping[float, int], int]

# One filtered count per value is faster than sorted arrays as long as the values are few.
_MOST_COLUMNS = 12

_ARRAYS = f"""
SELECT given, count(*) FROM (
    SELECT array_agg({{value}} ORDER BY {{value}})::float8[] AS given
    {COUNTED_ANSWERS_SQL} AND {{value}} IS NOT NULL {{first}}
    GROUP BY a.task_id, a.candidate_id
) AS unit GROUP BY given
"""

# Each rater's first such answer is found by index; counting distinct raters would join every vote.
_NAMED_RATERS = f"""
SELECT count(*) FROM annotation_rater r CROSS JOIN LATERAL (
    SELECT 1 FROM annotation_judgment said
    WHERE said.rater_id = r.id AND EXISTS (SELECT 1 {COUNTED_ANSWERS_SQL} AND a.judgment_id = said.id)
    LIMIT 1
) AS first
WHERE r.study_id = %(study)s
"""

_UNNAMED_RATER = f"""
SELECT EXISTS (
    SELECT 1 FROM annotation_judgment said
    WHERE said.study_id = %(study)s AND said.rater_id IS NULL
      AND EXISTS (SELECT 1 {COUNTED_ANSWERS_SQL} AND a.judgment_id = said.id)
)
"""

_SYSTEM_RATINGS = f"""
WITH unit AS (
    SELECT a.task_id, a.candidate_id, count({{value}}) AS n, sum({{value}}) AS total,
           sum({{value}} * {{value}}) AS squares
    {COUNTED_ANSWERS_SQL} AND {{value}} IS NOT NULL
    GROUP BY a.task_id, a.candidate_id
)
SELECT s.name, sum(u.n)::bigint, sum(u.total), sum(u.squares)
FROM unit u {{candidate}} JOIN annotation_system s ON s.id = c.system_id
GROUP BY s.id, s.name ORDER BY s.name
"""
_OWN_CANDIDATE = "JOIN annotation_candidate c ON c.id = u.candidate_id"
_ONLY_CANDIDATE = """
JOIN annotation_taskcandidate tc ON tc.task_id = u.task_id AND tc.slot = 0
JOIN annotation_candidate c ON c.id = tc.candidate_id
"""

_PAIRS = f"""
WITH unit AS (
    SELECT a.task_id, count(*) FILTER (WHERE a.choice = {Answer.Choice.FIRST:d}) AS first,
           count(*) FILTER (WHERE a.choice = {Answer.Choice.SECOND:d}) AS second,
           count(*) FILTER (WHERE a.choice = {Answer.Choice.TIE:d}) AS tie,
           count(*) FILTER (WHERE a.choice = {Answer.Choice.BOTH_BAD:d}) AS both_bad
    {COUNTED_ANSWERS_SQL}
    GROUP BY a.task_id
)
SELECT s0.name, s1.name, sum(u.first)::bigint, sum(u.second)::bigint, sum(u.tie)::bigint, sum(u.both_bad)::bigint
FROM unit u
JOIN annotation_taskcandidate t0 ON t0.task_id = u.task_id AND t0.slot = 0
JOIN annotation_taskcandidate t1 ON t1.task_id = u.task_id AND t1.slot = 1
JOIN annotation_candidate c0 ON c0.id = t0.candidate_id JOIN annotation_system s0 ON s0.id = c0.system_id
JOIN annotation_candidate c1 ON c1.id = t1.candidate_id JOIN annotation_system s1 ON s1.id = c1.system_id
GROUP BY s0.id, s0.name, s1.id, s1.name ORDER BY s0.name, s1.name
"""

_CODES = f"""
SELECT code, count(*) FROM annotation_judgment j CROSS JOIN LATERAL unnest(j.codes) AS code
WHERE j.study_id = %(study)s AND {counted.COUNTED}
  AND NOT EXISTS (SELECT 1 FROM annotation_task t WHERE t.id = j.task_id AND t.kind <> {Task.Kind.REGULAR:d})
GROUP BY code ORDER BY count(*) DESC, code
"""

# A withdrawn task wants no more than it has.
_WANTED = f"""
SELECT coalesce(sum(CASE WHEN state = {Task.State.WITHDRAWN:d} THEN n_judgments ELSE overlap END), 0)::bigint
FROM annotation_task WHERE study_id = %(study)s AND kind = {Task.Kind.REGULAR:d}
"""


@dataclass(frozen=True)
class UnitCounts:
    """The units' value counts. off_scale: how many ratings are none of the scale's points, and so in no row."""

    rows: list[CountRow]
    off_scale: int = 0


@dataclass(frozen=True)
class SystemRatings:
    """All ratings of one system's output: how many, their sum and the sum of their squares."""

    system: str
    n: int
    total: float
    squares: float


@dataclass(frozen=True)
class PairVotes:
    """Votes between two systems; `first` is for the one that the tasks list first."""

    first_system: str
    second_system: str
    first: int
    second: int
    tie: int
    both_bad: int


def unit_counts(question: MeasuredQuestion) -> UnitCounts:
    """Value counts of the units by one GROUP BY; a preference's values are the codes of `Answer.Choice`.

    The rows come in no fixed order. A scale without points keeps every finite value.
    """
    points = question.categories
    if not 0 < len(points) <= _MOST_COLUMNS:
        arrays = _question_rows(
            _ARRAYS.format(value=question.value_sql, first=first_votes_condition(question)), question
        )
        return without_off_scale([(Counter(values), units) for values, units in arrays], points)
    with transaction.atomic(), connection.cursor() as cursor:
        # Room for the counts of three million units; with the default 4 MB they go through files, at half the speed.
        cursor.execute("SET LOCAL work_mem = '256MB'")
        rows = _question_rows(_counts_by_column(question), question, values=list(points))
    return UnitCounts(
        [(dict(zip(points, counts, strict=True)), units) for *counts, _, units in rows],
        sum(strange * units for *_, strange, units in rows),
    )


def without_off_scale(rows: list[CountRow], points: Sequence[float]) -> UnitCounts:
    """The rows without values that are none of the points, or not finite; the rows keep their order."""
    known = frozenset(points)

    def fits(value: float) -> bool:
        return value in known if known else math.isfinite(value)

    strange = sum(n * units for counts, units in rows for value, n in counts.items() if not fits(value))
    return UnitCounts(
        [({v: n for v, n in counts.items() if fits(v)}, units) for counts, units in rows], strange
    )


def _counts_by_column(question: MeasuredQuestion) -> str:
    column, places = question.value_sql, range(1, len(question.categories) + 1)
    counts = ", ".join(
        f"count(*) FILTER (WHERE {column} = (%(values)s::float8[])[{i}]) AS n{i}" for i in places
    )
    listed = ", ".join([*(f"n{i}" for i in places), "strange"])
    return f"""
        SELECT {listed}, count(*) FROM (
            SELECT {counts}, count(*) FILTER (WHERE {column} <> ALL(%(values)s::float8[])) AS strange
            {COUNTED_ANSWERS_SQL} {first_votes_condition(question)} GROUP BY a.task_id, a.candidate_id
        ) AS unit GROUP BY {listed}
    """


def n_named_raters(question: MeasuredQuestion) -> int:
    return int(_question_rows(_NAMED_RATERS, question)[0][0])


def has_unnamed_raters(question: MeasuredQuestion) -> bool:
    """Whether any of the answers comes from an import that did not say who gave it."""
    return bool(_question_rows(_UNNAMED_RATER, question)[0][0])


def system_ratings(question: MeasuredQuestion) -> list[SystemRatings]:
    """Ratings by system; none for a question that is asked once about several candidates together, and for one whose
    values are names of options."""
    if not question.has_means or not (question.per_candidate or question.one_candidate):
        return []
    candidate = _OWN_CANDIDATE if question.per_candidate else _ONLY_CANDIDATE
    rows = _question_rows(_SYSTEM_RATINGS.format(value=question.value_sql, candidate=candidate), question)
    return [SystemRatings(*row) for row in rows]


# Of two candidates that one judgment ranked, the better place wins.
_RANKED_PAIRS = """
WITH ranked AS (
    SELECT a.judgment_id, a.value, c.system_id {counted} AND a.value IS NOT NULL
)
SELECT s0.name, s1.name, count(*) FILTER (WHERE x.value < y.value), count(*) FILTER (WHERE x.value > y.value),
       0::bigint, 0::bigint
FROM ranked x JOIN ranked y ON y.judgment_id = x.judgment_id
JOIN annotation_system s0 ON s0.id = x.system_id JOIN annotation_system s1 ON s1.id = y.system_id
WHERE s0.name < s1.name
GROUP BY s0.name, s1.name ORDER BY s0.name, s1.name
"""


def pair_votes(question: MeasuredQuestion) -> list[PairVotes]:
    """Of a ranking: each judgment is a vote on every pair of systems that it places."""
    if question.is_ranking:
        counted_answers = COUNTED_ANSWERS_SQL.replace(
            "FROM annotation_answer a",
            "FROM annotation_answer a JOIN annotation_candidate c ON c.id = a.candidate_id",
            1,
        )
        return [
            PairVotes(*row) for row in _question_rows(_RANKED_PAIRS.format(counted=counted_answers), question)
        ]
    return [PairVotes(*row) for row in _question_rows(_PAIRS, question)]


def code_counts(study: Study) -> dict[str, int]:
    """How many standing judgments give each feedback code, the most frequent first."""
    return dict(fetch_rows(_CODES, study=study.pk))


def judgments_wanted(study: Study) -> int:
    return int(fetch_rows(_WANTED, study=study.pk)[0][0])


def _question_rows(sql: str, question: MeasuredQuestion, **params: Any) -> list[Any]:
    return fetch_rows(sql, questions=list(question.ids), study=question.study_id, **params)


# Value counts by prompt, for intervals by clusters: items with the same prompt or question are not independent.


_COUNTS_BY_PROMPT = f"""
SELECT prompt, given, count(*) FROM (
    SELECT a.task_id, array_agg({{value}} ORDER BY {{value}})::float8[] AS given
    {COUNTED_ANSWERS_SQL} AND {{value}} IS NOT NULL {{first}}
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

    counted: UnitCounts
    clusters: list[int]


def unit_counts_by_prompt(question: MeasuredQuestion) -> ClusteredCounts:
    """As `unit_counts`, but units with equal counts are one row only where they share their prompt."""
    value, first = question.value_sql, first_votes_condition(question)
    rows = _question_rows(_COUNTS_BY_PROMPT.format(value=value, first=first), question)
    counts: list[CountRow] = [(Counter(values), units) for _, values, units in rows]
    return ClusteredCounts(without_off_scale(counts, question.categories), [prompt for prompt, _, _ in rows])


# Above this many different values a free scale is shown in this many equal bins.
_BINS = 10
_CHOICES = {float(choice): choice.name.lower() for choice in Answer.Choice}

# What was given (a point, a range of a free scale, or a canonical choice) and how often.
HistogramBar = tuple[str, int]


def histogram(question: MeasuredQuestion, rows: Sequence[CountRow]) -> list[HistogramBar]:
    """All points of the scale, with or without answers; `first` and `second` name slots, not what was shown first."""
    return [(label, n) for label, (n,) in histograms(question, [rows])]


def histograms(
    question: MeasuredQuestion, sets: Sequence[Sequence[CountRow]]
) -> list[tuple[str, tuple[int, ...]]]:
    """The same bars of several sets of ratings, each with its counts in the order of the sets."""
    totals = [_totals(rows) for rows in sets]
    values = question.categories or sorted(set().union(*totals))
    if question.categories or len(values) <= _BINS:
        labels = _CHOICES if question.is_preference else {value: question.label(value) for value in values}
        return [(labels[value], tuple(total[value] for total in totals)) for value in values]
    return _binned(totals)


def _totals(rows: Sequence[CountRow]) -> Counter[float]:
    totals: Counter[float] = Counter()
    for row, units in rows:
        for value, count in row.items():
            totals[value] += count * units
    return totals


def _binned(totals: Sequence[Counter[float]]) -> list[tuple[str, tuple[int, ...]]]:
    edges = np.histogram_bin_edges(sorted(set().union(*totals)), bins=_BINS)
    counts = [np.histogram(list(total), bins=edges, weights=list(total.values()))[0] for total in totals]
    return [
        (f"{low:g} – {high:g}", tuple(int(n) for n in each))
        for low, high, each in zip(edges[:-1], edges[1:], zip(*counts, strict=True), strict=True)
    ]


# Of the judgments that count, those too which give a code and no answer because their rater could not answer.
_REMARKS = f"""
SELECT j.task_id, count(*) FILTER (WHERE cardinality(j.codes) > 0)::int4,
       count(*) FILTER (WHERE j.comment <> '')::int4
FROM annotation_judgment j
WHERE j.study_id = %(study)s AND {counted.COUNTED}
  AND (cardinality(j.codes) > 0 OR j.comment <> '')
GROUP BY j.task_id ORDER BY j.task_id
"""


@dataclass(frozen=True, eq=False)
class Remarks:
    """Tasks with a code or a comment, ascending; how many judgments of each have a code, and a comment."""

    task: IntArray
    coded: IntArray
    commented: IntArray


def remarks_by_task(study: Study) -> Remarks:
    types = {"task": "int8", "coded": "int4", "commented": "int4"}
    return Remarks(**copy_columns(_REMARKS, types, {"study": study.pk}))
