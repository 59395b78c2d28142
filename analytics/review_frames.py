"""What raters said before and after the review, counted by PostgreSQL.

Judgments that stand (effective, not surplus, of regular tasks, not experts' own) are told apart by the version of the
item they are about and by whether the review keeps them out (`rules.review.EXCLUSIONS`):

    before     of texts that no correction made, kept or not
    excluded   those of `before` that the review keeps out
    kept       the rest of `before`
    rejudged   of corrected texts, and counted
    after      kept and rejudged: what counts now

What is kept out otherwise, a careless rater's votes or those on a text that a model has written anew, is in none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from django.db import connection

from analytics.frames import CountRow
from analytics.questions import MeasuredQuestion
from annotation.models import Exclusion, Judgment, Study, Task
from annotation.rules.review import EXCLUSIONS

Part = Literal[
    "before", "excluded", "kept", "rejudged", "after", "unmarked_ratings", "marked_units", "unmarked_units"
]
PARTS: tuple[Part, ...] = get_args(Part)

# The name under which `code_counts` counts comments; no protocol has a code with such a key.
COMMENT = "~comment"

# A version that a correction made, or that came later and holds a correction which was not undone.
CORRECTED = """
corrected AS (
    SELECT DISTINCT later.id FROM annotation_itemversion later
    JOIN annotation_itemversion made ON made.item_id = later.item_id
        AND (made.id = later.id OR (made.number < later.number AND NOT made.retracted))
    JOIN annotation_correction c ON c.version_after_id = made.id
    JOIN annotation_item i ON i.id = made.item_id AND i.study_id = %(study)s
)
"""

# The last mark of a judgment is the one that stands. A model that writes an item's text anew replaces a version too,
# with the same reason, but no correction that stands begins at that version.
BY_REVIEW = f"""
(SELECT x.action = '{Exclusion.Action.EXCLUDE}' AND x.reason = ANY(%(by_review)s)
        AND (x.reason <> 'item_corrected' OR EXISTS (
            SELECT 1 FROM annotation_correction began JOIN annotation_task judged ON judged.id = j.task_id
            JOIN annotation_itemversion made ON made.id = began.version_after_id AND NOT made.retracted
            WHERE began.version_before_id = judged.item_version_id))
 FROM annotation_exclusion x WHERE x.judgment_id = j.id ORDER BY x.id DESC LIMIT 1)
"""

_STANDING = f"""
    j.effective AND NOT j.surplus AND j.origin <> {Judgment.Origin.EXPERT:d}
    AND t.kind = {Task.Kind.REGULAR:d} AND (NOT j.excluded OR (c.id IS NULL AND {BY_REVIEW}))
"""

_MARKED = "(cardinality(j.codes) > 0 OR j.comment <> '')"

_UNITS = f"""
WITH {CORRECTED}, marked AS (
    SELECT DISTINCT j.task_id FROM annotation_judgment j
    WHERE j.study_id = %(study)s AND j.effective AND NOT j.surplus AND NOT j.excluded
      AND j.origin <> {Judgment.Origin.EXPERT:d} AND {_MARKED}
), said AS (
    SELECT a.task_id, a.candidate_id, {{value}} AS value, c.id IS NOT NULL AS corrected, j.excluded,
           {_MARKED} AS marked
    FROM annotation_answer a
    JOIN annotation_judgment j ON j.id = a.judgment_id
    JOIN annotation_task t ON t.id = a.task_id
    LEFT JOIN corrected c ON c.id = t.item_version_id
    WHERE a.question_id = ANY(%(questions)s) AND {{value}} IS NOT NULL AND {_STANDING}
)
SELECT corrected, marked, counted, excluded, unmarked, count(*) FROM (
    SELECT s.corrected, m.task_id IS NOT NULL AS marked,
           array_agg(s.value ORDER BY s.value) FILTER (WHERE NOT s.excluded) AS counted,
           array_agg(s.value ORDER BY s.value) FILTER (WHERE s.excluded) AS excluded,
           array_agg(s.value ORDER BY s.value) FILTER (WHERE NOT s.excluded AND NOT s.marked) AS unmarked
    FROM said s LEFT JOIN marked m ON m.task_id = s.task_id
    GROUP BY s.task_id, s.candidate_id, s.corrected, m.task_id
) AS unit GROUP BY 1, 2, 3, 4, 5
"""

_JUDGED = f"""
WITH {CORRECTED}, standing AS (
    SELECT v.item_id, j.task_id, c.id IS NULL AS before, NOT j.excluded AS after,
           j.codes || CASE WHEN j.comment <> '' THEN ARRAY['{COMMENT}'] ELSE ARRAY[]::text[] END AS codes
    FROM annotation_judgment j
    JOIN annotation_task t ON t.id = j.task_id
    JOIN annotation_itemversion v ON v.id = t.item_version_id
    LEFT JOIN corrected c ON c.id = v.id
    WHERE j.study_id = %(study)s AND {_STANDING}
)
"""
_TALLY = ", ".join(
    f"count({what}) FILTER (WHERE {when}{{only}})"
    for when in ("before", "after")
    for what in ("DISTINCT item_id", "DISTINCT task_id", "*")
)
_ALL, _ONLY_MARKED = _TALLY.format(only=""), _TALLY.format(only=" AND cardinality(codes) > 0")
_BY_CODE = f"{_JUDGED} SELECT code, {_ALL} FROM standing, unnest(codes) AS code GROUP BY code"
_OF_ALL = f"{_JUDGED} SELECT {_ALL}, {_ONLY_MARKED} FROM standing"

# Several tasks may show one answer, and an answer is as long as it is however many people rated it.
_ANSWERS = f"""
WITH answer AS (
    SELECT coalesce(a.candidate_id, slot.candidate_id) AS candidate_id, count(*) AS n, sum(a.value) AS total
    FROM annotation_answer a
    JOIN annotation_judgment j ON j.id = a.judgment_id AND j.origin <> {Judgment.Origin.EXPERT:d}
    JOIN annotation_task t ON t.id = a.task_id AND t.kind = {Task.Kind.REGULAR:d}
    LEFT JOIN annotation_taskcandidate slot ON slot.task_id = a.task_id AND slot.slot = 0
    WHERE a.question_id = ANY(%(questions)s) AND a.counted AND a.value IS NOT NULL
    GROUP BY 1
)
SELECT s.name, count(*), sum(answer.n)::bigint, sum(answer.total),
       avg(CASE WHEN c.text ~ '\\S' THEN cardinality(regexp_split_to_array(btrim(c.text, E' \\t\\n\\r'), '\\s+'))
                WHEN c.clip_id IS NULL THEN 0 END)::float8,
       avg(clip.duration_s)
FROM answer JOIN annotation_candidate c ON c.id = answer.candidate_id
JOIN annotation_system s ON s.id = c.system_id
LEFT JOIN annotation_clip clip ON clip.id = c.clip_id
GROUP BY s.id, s.name ORDER BY lower(s.name), s.name
"""


@dataclass(frozen=True)
class UnitRow:
    """Ratings that `units` units have in common: those that count, those the review keeps out, and of those that count
    the ones whose judgment has neither code nor comment. `marked`: some judgment of the unit's task has."""

    corrected: bool
    marked: bool
    counted: Mapping[float, int]
    excluded: Mapping[float, int]
    unmarked: Mapping[float, int]
    units: int


@dataclass(frozen=True)
class Tally:
    """How many items, tasks (an item with the answers shown) and judgments."""

    items: int
    tasks: int
    judgments: int


@dataclass(frozen=True)
class JudgedAndMarked:
    """Everything judged, and what has a code or a comment; before the review and counted now."""

    before: Tally
    after: Tally
    marked_before: Tally
    marked_after: Tally


@dataclass(frozen=True)
class SystemAnswers:
    """The rated answers of one system. `words` and `seconds` are means over answers; None where none has a text, or a
    clip. A word is what stands between blanks; an empty answer has none."""

    system: str
    answers: int
    ratings: int
    total: float
    words: float | None
    seconds: float | None


def unit_rows(question: MeasuredQuestion) -> list[UnitRow]:
    """The question's units by one scan, alike ones together."""
    sql = _UNITS.format(value="a.choice" if question.is_preference else "a.value")
    return [
        UnitRow(corrected, marked, _counts(counted), _counts(excluded), _counts(unmarked), units)
        for corrected, marked, counted, excluded, unmarked, units in _of_question(sql, question)
    ]


def count_rows(rows: Sequence[UnitRow], part: Part) -> list[CountRow]:
    """The value counts of one part of the units; the part of a unit that has no such ratings is empty."""
    return [(values, row.units) for row in rows if (values := _values(row, part))]


def code_tallies(study: Study) -> dict[str, tuple[Tally, Tally]]:
    """Each code that was given, and COMMENT, before the review and counted now."""
    return {code: (Tally(*n[:3]), Tally(*n[3:])) for code, *n in _of_study(_BY_CODE, study)}


def judged_and_marked(study: Study) -> JudgedAndMarked:
    (n,) = _of_study(_OF_ALL, study)
    return JudgedAndMarked(Tally(*n[:3]), Tally(*n[3:6]), Tally(*n[6:9]), Tally(*n[9:]))


def system_answers(question: MeasuredQuestion) -> list[SystemAnswers]:
    """By the names of the systems; none for a question that is asked once about several answers together."""
    if not (question.per_candidate or question.one_candidate):
        return []
    return [SystemAnswers(*row) for row in _of_question(_ANSWERS, question)]


def _values(row: UnitRow, part: Part) -> Mapping[float, int]:
    if part == "before":
        return Counter() if row.corrected else Counter(row.counted) + Counter(row.excluded)
    if part == "excluded":
        return row.excluded
    if part == "unmarked_ratings":
        return row.unmarked
    wanted = {
        "kept": not row.corrected,
        "rejudged": row.corrected,
        "after": True,
        "marked_units": row.marked,
        "unmarked_units": not row.marked,
    }
    return row.counted if wanted[part] else {}


def _counts(values: Sequence[float] | None) -> Mapping[float, int]:
    return Counter(float(value) for value in values or ())


def _of_question(sql: str, question: MeasuredQuestion) -> Sequence[tuple[Any, ...]]:
    return _fetched(sql, study=question.study_id, questions=list(question.ids))


def _of_study(sql: str, study: Study) -> Sequence[tuple[Any, ...]]:
    return _fetched(sql, study=study.pk)


def _fetched(sql: str, **params: Any) -> Sequence[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, {"by_review": list(EXCLUSIONS), **params})
        rows: Sequence[tuple[Any, ...]] = cursor.fetchall()
        return rows
