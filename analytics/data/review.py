"""Review (adjudication): judgments before and after it, corrections, cases and returns, counted by PostgreSQL.

Judgments that stand (effective, not surplus, of regular tasks, not experts' own) are told apart by the version of the
item they are about and by whether the review keeps them out (`review.rules.REVIEW_EXCLUSIONS`):

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

from django.db.models import Count, F, Q, Sum

from analytics.data.counted_judgments import CORRECTED_VERSIONS_SQL, EXCLUDED_BY_REVIEW_SQL
from analytics.data.postgres import fetch_rows
from analytics.data.questions import MeasuredQuestion
from analytics.data.value_counts import CountRow
from annotation.items.corrections import holds_correction
from annotation.models import CaseEvent, Correction, Draft, Return, ReviewCase, Study, Task
from annotation.rating import counted
from annotation.review import drafts
from annotation.review.rules import REVIEW_EXCLUSIONS

ReviewPart = Literal[
    "before", "excluded", "kept", "rejudged", "after", "unmarked_ratings", "marked_units", "unmarked_units"
]
REVIEW_PARTS: tuple[ReviewPart, ...] = get_args(ReviewPart)

# The name under which `code_counts` counts comments; no protocol has a code with such a key.
COMMENT = "~comment"

_STANDING_OR_REVIEWED = f"""
    {counted.STANDING} AND {counted.REGULAR_TASK} AND (NOT j.excluded OR (c.id IS NULL AND {EXCLUDED_BY_REVIEW_SQL}))
"""

_MARKED = "(cardinality(j.codes) > 0 OR j.comment <> '')"

_UNITS = f"""
WITH {CORRECTED_VERSIONS_SQL}, marked AS (
    SELECT DISTINCT j.task_id FROM annotation_judgment j
    WHERE j.study_id = %(study)s AND {counted.COUNTED} AND {_MARKED}
), said AS (
    SELECT a.task_id, a.candidate_id, {{value}} AS value, c.id IS NOT NULL AS corrected, j.excluded,
           {_MARKED} AS marked
    FROM annotation_answer a
    JOIN annotation_judgment j ON j.id = a.judgment_id
    JOIN annotation_task t ON t.id = a.task_id
    LEFT JOIN corrected c ON c.id = t.item_version_id
    WHERE a.question_id = ANY(%(questions)s) AND {{value}} IS NOT NULL AND {_STANDING_OR_REVIEWED}
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
WITH {CORRECTED_VERSIONS_SQL}, standing AS (
    SELECT v.item_id, j.task_id, c.id IS NULL AS before, NOT j.excluded AS after,
           j.codes || CASE WHEN j.comment <> '' THEN ARRAY['{COMMENT}'] ELSE ARRAY[]::text[] END AS codes
    FROM annotation_judgment j
    JOIN annotation_task t ON t.id = j.task_id
    JOIN annotation_itemversion v ON v.id = t.item_version_id
    LEFT JOIN corrected c ON c.id = v.id
    WHERE j.study_id = %(study)s AND {_STANDING_OR_REVIEWED}
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
    JOIN annotation_judgment j ON j.id = a.judgment_id AND {counted.NOT_EXPERT}
    JOIN annotation_task t ON t.id = a.task_id AND {counted.REGULAR_TASK}
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
    sql = _UNITS.format(value=question.value_sql)
    rows = []
    for corrected, marked, *ratings, units in _of_question(sql, question):
        counted, excluded, unmarked = (Counter(map(float, values or ())) for values in ratings)
        rows.append(UnitRow(corrected, marked, counted, excluded, unmarked, units))
    return rows


def part_value_counts(rows: Sequence[UnitRow], part: ReviewPart) -> list[CountRow]:
    """The value counts of one part of the units; the part of a unit that has no such ratings is empty."""
    return [(values, row.units) for row in rows if (values := _part_values(row, part))]


def code_tallies(study: Study) -> dict[str, tuple[Tally, Tally]]:
    """Each code that was given, and COMMENT, before the review and counted now."""
    return {code: (Tally(*n[:3]), Tally(*n[3:])) for code, *n in _of_study(_BY_CODE, study.pk)}


def judged_and_marked(study: Study) -> JudgedAndMarked:
    (n,) = _of_study(_OF_ALL, study.pk)
    return JudgedAndMarked(Tally(*n[:3]), Tally(*n[3:6]), Tally(*n[6:9]), Tally(*n[9:]))


def system_answers(question: MeasuredQuestion) -> list[SystemAnswers]:
    """By the names of the systems; none for a question that is asked once about several answers together."""
    if not (question.per_candidate or question.one_candidate):
        return []
    return [SystemAnswers(*row) for row in _of_question(_ANSWERS, question)]


def _part_values(row: UnitRow, part: ReviewPart) -> Mapping[float, int]:
    match part:
        case "before":
            return {} if row.corrected else Counter(row.counted) + Counter(row.excluded)
        case "excluded":
            return row.excluded
        case "unmarked_ratings":
            return row.unmarked
        case "kept" | "rejudged":
            return row.counted if row.corrected == (part == "rejudged") else {}
        case "marked_units" | "unmarked_units":
            return row.counted if row.marked == (part == "marked_units") else {}
        case _:
            return row.counted


def _of_question(sql: str, question: MeasuredQuestion) -> list[Any]:
    return _of_study(sql, question.study_id, questions=list(question.ids))


def _of_study(sql: str, study_id: int, **params: Any) -> list[Any]:
    return fetch_rows(sql, study=study_id, by_review=list(REVIEW_EXCLUSIONS), **params)


# What the review did: corrections, drafts, cases, returns, experts' blind judgments, rejudging.

# How long a case waited and was worked on: from its opening, and from the last claim before its decision.
_CASE_DURATIONS = f"""
SELECT count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM c.resolved_at - c.created_at)),
       percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM c.resolved_at - claimed.at))
FROM annotation_reviewcase c
LEFT JOIN LATERAL (
    SELECT max(e.at) AS at FROM annotation_caseevent e
    WHERE e.case_id = c.id AND e.kind = '{CaseEvent.Kind.CLAIMED}' AND e.at <= c.resolved_at
) AS claimed ON true
WHERE c.study_id = %(study)s AND c.state = '{ReviewCase.State.RESOLVED}'
  AND c.decision <> '{ReviewCase.Decision.SUPERSEDED}'
"""

_RULES = """
SELECT rule, c.decision, count(*) FROM annotation_reviewcase c, unnest(c.rules) AS rule
WHERE c.study_id = %(study)s GROUP BY rule, c.decision
"""

# What raters had said of the task by then, kept out since by the review or not.
_BLIND = f"""
SELECT {{own}}::float8, (
    SELECT array_agg(({{value}})::float8 ORDER BY {{value}})
    FROM annotation_judgment j JOIN annotation_answer a ON a.judgment_id = j.id
    WHERE j.task_id = e.task_id AND a.question_id = ANY(%(questions)s)
      AND a.candidate_id IS NOT DISTINCT FROM own.candidate_id AND {{value}} IS NOT NULL
      AND {counted.STANDING} AND j.submitted_at <= e.submitted_at AND (NOT j.excluded OR {EXCLUDED_BY_REVIEW_SQL})
)
FROM annotation_judgment e JOIN annotation_answer own ON own.judgment_id = e.id
WHERE e.id IN (SELECT c.blind_judgment_id FROM annotation_reviewcase c WHERE c.study_id = %(study)s)
  AND own.question_id = ANY(%(questions)s) AND {{own}} IS NOT NULL
ORDER BY e.id, own.id
"""


@dataclass(frozen=True)
class CorrectionRow:
    """`undone`: the version it made was taken back. `strata`: of the item it is about."""

    item_id: int
    field: str
    reason: str
    origin: str
    undone: bool
    strata: Mapping[str, Any]


@dataclass(frozen=True)
class CaseDurations:
    """Of decided cases; medians in seconds, None without any. Those settled elsewhere were decided by nobody."""

    decided: int
    since_opening: float | None
    since_claim: float | None


@dataclass(frozen=True)
class BlindAnswer:
    """An expert's own answer to one question, and the raters' that were there by then."""

    expert: float
    raters: tuple[float, ...]


@dataclass(frozen=True)
class Rejudging:
    """Tasks of corrected texts that replaced others, of items that are not withdrawn: judgments had, still wanted."""

    tasks: int
    judgments: int
    wanted: int


def correction_rows(study: Study) -> list[CorrectionRow]:
    rows = Correction.objects.filter(version_after__item__study=study).order_by("pk")
    fields = ("field", "reason", "origin", "version_after__retracted", "version_after__item__strata")
    return [CorrectionRow(*row) for row in rows.values_list("version_after__item_id", *fields)]


def draft_states(study: Study) -> list[tuple[str, str, str, int]]:
    """How many drafts there are by field, writer and outcome: a state, or `drafts.LATE`."""
    rows = Draft.objects.filter(case__study=study).values_list("field", "writer", drafts.OUTCOME)
    return list(rows.annotate(n=Count("pk")).order_by("field", "writer", drafts.OUTCOME))


def rule_decisions(study: Study) -> list[tuple[str, str, int]]:
    """Cases by rule and decision, "" for none yet; a case that several rules made is there under each."""
    return fetch_rows(_RULES, study=study.pk)


def case_states(study: Study) -> list[tuple[str, str, int]]:
    """Cases by state and decision."""
    rows = ReviewCase.objects.filter(study=study).values_list("state", "decision")
    return list(rows.annotate(n=Count("pk")).order_by("state", "decision"))


def case_durations(study: Study) -> CaseDurations:
    return CaseDurations(*fetch_rows(_CASE_DURATIONS, study=study.pk)[0])


def n_decisions_undone(study: Study) -> int:
    return CaseEvent.objects.filter(case__study=study, kind=CaseEvent.Kind.UNDONE).count()


def case_returns(study: Study) -> list[tuple[bool, str, int]]:
    """Returns by whether a rater was asked (else the pool) and state."""
    rows = Return.objects.filter(case__study=study).annotate(to_rater=Q(assignment__isnull=False))
    return list(rows.values_list("to_rater", "state").annotate(n=Count("pk")).order_by("to_rater", "state"))


def blind_answers(question: MeasuredQuestion) -> list[BlindAnswer]:
    """One row per expert's judgment (and candidate, where each is asked about), however many cases rest on it."""
    value = question.value_sql
    sql = _BLIND.format(value=value, own=value.replace("a.", "own."))
    return [BlindAnswer(expert, tuple(raters or ())) for expert, raters in _of_question(sql, question)]


def rejudging(study: Study) -> Rejudging:
    tasks = Task.objects.filter(study=study, replaces__isnull=False, state=Task.State.READY)
    sums = tasks.filter(holds_correction("item_version__")).aggregate(
        tasks=Count("pk"),
        judgments=Sum("n_judgments", default=0),
        wanted=Sum(F("overlap") - F("n_judgments"), default=0),
    )
    return Rejudging(**sums)
