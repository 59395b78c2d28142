"""The only door from stored answers to arrays. PostgreSQL counts; what comes out grows with the scale, not the votes.

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

from django.db import connection, transaction

from analytics.first_votes import among_first
from analytics.questions import MeasuredQuestion, abx_questions, screening_questions
from analytics.statistics.screening import LIMIT, Ratings
from annotation.models import Answer, Judgment, Study, System, Task

# How often each value was given to a unit, and how many units look like that.
CountRow = tuple[Mapping[float, int], int]

# One filtered count per value is faster than sorted arrays as long as the values are few.
_MOST_COLUMNS = 12

COUNTED = f"""
FROM annotation_answer a
WHERE a.question_id = ANY(%(questions)s) AND a.counted
  AND NOT EXISTS (SELECT 1 FROM annotation_task t
                  WHERE t.id = a.task_id AND t.study_id = %(study)s AND t.kind <> {Task.Kind.REGULAR:d})
  AND NOT EXISTS (SELECT 1 FROM annotation_judgment j
                  WHERE j.id = a.judgment_id AND j.study_id = %(study)s AND j.origin = {Judgment.Origin.EXPERT:d})
"""

_ARRAYS = f"""
SELECT given, count(*) FROM (
    SELECT array_agg(a.value ORDER BY a.value) AS given {COUNTED} AND a.value IS NOT NULL {{first}}
    GROUP BY a.task_id, a.candidate_id
) AS unit GROUP BY given
"""

# Each rater's first such answer is found by index; counting distinct raters would join every vote.
_NAMED_RATERS = f"""
SELECT count(*) FROM annotation_rater r CROSS JOIN LATERAL (
    SELECT 1 FROM annotation_judgment said
    WHERE said.rater_id = r.id AND EXISTS (SELECT 1 {COUNTED} AND a.judgment_id = said.id)
    LIMIT 1
) AS first
WHERE r.study_id = %(study)s
"""

_UNNAMED_RATER = f"""
SELECT EXISTS (
    SELECT 1 FROM annotation_judgment said
    WHERE said.study_id = %(study)s AND said.rater_id IS NULL
      AND EXISTS (SELECT 1 {COUNTED} AND a.judgment_id = said.id)
)
"""

_SYSTEM_RATINGS = """
WITH unit AS (
    SELECT a.task_id, a.candidate_id, count(a.value) AS n, sum(a.value) AS total, sum(a.value * a.value) AS squares
    {counted} AND a.value IS NOT NULL
    GROUP BY a.task_id, a.candidate_id
)
SELECT s.name, sum(u.n)::bigint, sum(u.total), sum(u.squares)
FROM unit u {candidate} JOIN annotation_system s ON s.id = c.system_id
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
    {COUNTED}
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
WHERE j.study_id = %(study)s AND j.effective AND NOT j.excluded AND j.origin <> {Judgment.Origin.EXPERT:d}
  AND NOT EXISTS (SELECT 1 FROM annotation_task t WHERE t.id = j.task_id AND t.kind <> {Task.Kind.REGULAR:d})
GROUP BY code ORDER BY count(*) DESC, code
"""

# A withdrawn task wants no more than it has.
_WANTED = f"""
SELECT coalesce(sum(CASE WHEN state = {Task.State.WITHDRAWN:d} THEN n_judgments ELSE overlap END), 0)::bigint
FROM annotation_task WHERE study_id = %(study)s
"""


# Marks do not depend on whom somebody has excluded since: a judgment that stands counts here, excluded or not.
_STANDING = f"""
FROM annotation_answer a
JOIN annotation_judgment j ON j.id = a.judgment_id AND j.effective AND NOT j.surplus
JOIN annotation_task t ON t.id = j.task_id AND t.kind = {Task.Kind.REGULAR:d}
JOIN annotation_rater r ON r.id = j.rater_id
JOIN annotation_candidate c ON c.id = a.candidate_id
JOIN annotation_system s ON s.id = c.system_id
WHERE a.question_id = ANY(%(questions)s) AND j.origin <> {Judgment.Origin.EXPERT:d} AND a.value IS NOT NULL
"""

_SCREENING = f"""
SELECT r.pseudonym, s.role, count(*), count(*) FILTER (WHERE a.value < %(limit)s),
       count(*) FILTER (WHERE a.value > %(limit)s)
{_STANDING} AND s.role IN ('{System.Role.HIDDEN_REFERENCE}', '{System.Role.ANCHOR_7000}')
GROUP BY r.pseudonym, s.role
"""

# X is the third shown (arrays begin at 1), and slots from 0 have choices from 1.
_ABX = f"""
WITH said AS (
    SELECT a.task_id, a.judgment_id, a.choice {COUNTED} AND a.choice IS NOT NULL
)
SELECT {{name}}, count(*), count(*) FILTER (WHERE said.choice = j.presentation[3] + 1)
FROM said JOIN annotation_judgment j ON j.id = said.judgment_id AND cardinality(j.presentation) = 3
{{joined}}
GROUP BY 1 ORDER BY 1
"""
_OF_PAIR = """
JOIN annotation_taskcandidate t0 ON t0.task_id = said.task_id AND t0.slot = 0
JOIN annotation_taskcandidate t1 ON t1.task_id = said.task_id AND t1.slot = 1
JOIN annotation_candidate c0 ON c0.id = t0.candidate_id JOIN annotation_system s0 ON s0.id = c0.system_id
JOIN annotation_candidate c1 ON c1.id = t1.candidate_id JOIN annotation_system s1 ON s1.id = c1.system_id
"""


@dataclass(frozen=True)
class Counted:
    """The units' value counts. off_scale: how many ratings are none of the scale's points, and so in no row."""

    rows: list[CountRow]
    off_scale: int = 0


@dataclass(frozen=True)
class RightAnswers:
    """Answers to ABX questions by pair of systems or by rater: how many, and how many named what X was."""

    name: str
    n: int
    correct: int


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


def count_rows(question: MeasuredQuestion) -> Counted:
    """Value counts of the units by one GROUP BY; a preference's values are the codes of `Answer.Choice`.

    The rows come in no fixed order. A scale without points keeps every finite value.
    """
    points, arrays = question.categories, _ARRAYS.format(first=among_first(question))
    if not 0 < len(points) <= _MOST_COLUMNS:
        return on_scale([(Counter(given), units) for given, units in _rows(arrays, question)], points)
    with transaction.atomic(), connection.cursor() as cursor:
        # Room for the counts of three million units; with the default 4 MB they go through files, at half the speed.
        cursor.execute("SET LOCAL work_mem = '256MB'")
        rows = _rows(_counts_by_column(question), question, values=list(points))
    return Counted(
        [(dict(zip(points, counts, strict=True)), units) for *counts, _, units in rows],
        sum(strange * units for *_, strange, units in rows),
    )


def on_scale(rows: list[CountRow], points: Sequence[float]) -> Counted:
    """The rows without values that are none of the points, or not finite; the rows keep their order."""
    known = frozenset(points)

    def fits(value: float) -> bool:
        return value in known if known else math.isfinite(value)

    strange = sum(n * units for counts, units in rows for value, n in counts.items() if not fits(value))
    return Counted([({v: n for v, n in counts.items() if fits(v)}, units) for counts, units in rows], strange)


def _counts_by_column(question: MeasuredQuestion) -> str:
    column = "a.choice" if question.is_preference else "a.value"
    names = [f"n{i}" for i in range(1, len(question.categories) + 1)]
    counts = ", ".join(
        f"count(*) FILTER (WHERE {column} = (%(values)s::float8[])[{i}]) AS {name}"
        for i, name in enumerate(names, start=1)
    )
    listed = ", ".join([*names, "strange"])
    return f"""
        SELECT {listed}, count(*) FROM (
            SELECT {counts}, count(*) FILTER (WHERE {column} <> ALL(%(values)s::float8[])) AS strange
            {COUNTED} {among_first(question)} GROUP BY a.task_id, a.candidate_id
        ) AS unit GROUP BY {listed}
    """


def n_named_raters(question: MeasuredQuestion) -> int:
    return int(_rows(_NAMED_RATERS, question)[0][0])


def has_unnamed_raters(question: MeasuredQuestion) -> bool:
    """Whether any of the answers comes from an import that did not say who gave it."""
    return bool(_rows(_UNNAMED_RATER, question)[0][0])


def system_ratings(question: MeasuredQuestion) -> list[SystemRatings]:
    """Ratings by system; none for a question that is asked once about several candidates together."""
    if not (question.per_candidate or question.one_candidate):
        return []
    candidate = _OWN_CANDIDATE if question.per_candidate else _ONLY_CANDIDATE
    sql = _SYSTEM_RATINGS.format(counted=COUNTED, candidate=candidate)
    return [SystemRatings(*row) for row in _rows(sql, question)]


def pair_votes(question: MeasuredQuestion) -> list[PairVotes]:
    return [PairVotes(*row) for row in _rows(_PAIRS, question)]


def screening_ratings(study: Study) -> list[Ratings]:
    """Ratings of hidden references and mid anchors, from 0 to 100, by rater."""
    if not (questions := screening_questions(study)):
        return []
    with connection.cursor() as cursor:
        cursor.execute(_SCREENING, {"questions": questions, "limit": LIMIT})
        return [Ratings(*row) for row in cursor.fetchall()]


def abx_by_pair(study: Study) -> list[RightAnswers]:
    """By the two systems, whichever the task lists first."""
    name = "least(s0.name, s1.name) || ' / ' || greatest(s0.name, s1.name)"
    return _abx(study, name=name, joined=_OF_PAIR)


def abx_by_rater(study: Study) -> list[RightAnswers]:
    return _abx(study, name="r.pseudonym", joined="JOIN annotation_rater r ON r.id = j.rater_id")


def _abx(study: Study, **parts: str) -> list[RightAnswers]:
    if not (questions := abx_questions(study)):
        return []
    with connection.cursor() as cursor:
        cursor.execute(_ABX.format(**parts), {"questions": questions, "study": study.pk})
        return [RightAnswers(*row) for row in cursor.fetchall()]


def code_counts(study: Study) -> dict[str, int]:
    """How many standing judgments give each feedback code, the most frequent first."""
    with connection.cursor() as cursor:
        cursor.execute(_CODES, {"study": study.pk})
        return dict(cursor.fetchall())


def judgments_wanted(study: Study) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_WANTED, {"study": study.pk})
        return int(cursor.fetchone()[0])


def _rows(sql: str, question: MeasuredQuestion, **params: Any) -> Sequence[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, {"questions": list(question.ids), "study": question.study_id, **params})
        rows: Sequence[tuple[Any, ...]] = cursor.fetchall()
        return rows
