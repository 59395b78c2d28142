"""What the review did: corrections, drafts, cases, returns, experts' blind judgments, and what is wanted anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Count, F, Q, Sum

from analytics.questions import MeasuredQuestion
from analytics.review_frames import BY_REVIEW
from annotation.models import CaseEvent, Correction, Draft, Judgment, Return, ReviewCase, Study, Task
from annotation.rules.review import EXCLUSIONS
from annotation.services import drafts
from annotation.services.corrected_texts import holds_correction

# A stratum with more values than this is a name rather than a group.
_MOST_VALUES = 20

_STRATA = """
WITH had AS (
    SELECT s.key, s.value, count(*) AS n FROM annotation_item i, jsonb_each_text(i.strata) AS s
    WHERE i.study_id = %(study)s GROUP BY s.key, s.value
)
SELECT key, value, n FROM had
WHERE key IN (SELECT key FROM had GROUP BY key HAVING count(*) <= %(most)s) ORDER BY key, value
"""

# How long a case waited and was worked on: from its opening, and from the last claim before its decision.
_TIMES = f"""
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
SELECT coalesce(own.choice, own.value), (
    SELECT array_agg(coalesce(a.choice, a.value) ORDER BY coalesce(a.choice, a.value))
    FROM annotation_judgment j JOIN annotation_answer a ON a.judgment_id = j.id
    WHERE j.task_id = e.task_id AND a.question_id = ANY(%(questions)s)
      AND a.candidate_id IS NOT DISTINCT FROM own.candidate_id AND coalesce(a.choice, a.value) IS NOT NULL
      AND j.effective AND NOT j.surplus AND j.origin <> {Judgment.Origin.EXPERT:d}
      AND j.submitted_at <= e.submitted_at AND (NOT j.excluded OR {BY_REVIEW})
)
FROM annotation_judgment e JOIN annotation_answer own ON own.judgment_id = e.id
WHERE e.id IN (SELECT c.blind_judgment_id FROM annotation_reviewcase c WHERE c.study_id = %(study)s)
  AND own.question_id = ANY(%(questions)s) AND coalesce(own.choice, own.value) IS NOT NULL
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
class Times:
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


def corrections(study: Study) -> list[CorrectionRow]:
    rows = Correction.objects.filter(version_after__item__study=study).order_by("pk")
    fields = ("field", "reason", "origin", "version_after__retracted", "version_after__item__strata")
    return [CorrectionRow(*row) for row in rows.values_list("version_after__item_id", *fields)]


def items_by_stratum(study: Study) -> dict[str, dict[str, int]]:
    """Items by stratum and value, of the strata that group items rather than name them."""
    found: dict[str, dict[str, int]] = {}
    for key, value, n in _fetched(_STRATA, study=study.pk, most=_MOST_VALUES):
        found.setdefault(key, {})[value] = n
    return found


def draft_states(study: Study) -> list[tuple[str, str, str, int]]:
    """How many drafts there are by field, writer and outcome: a state, or `drafts.LATE`."""
    rows = Draft.objects.filter(case__study=study).values_list("field", "writer", drafts.OUTCOME)
    return list(rows.annotate(n=Count("pk")).order_by("field", "writer", drafts.OUTCOME))


def rule_decisions(study: Study) -> list[tuple[str, str, int]]:
    """Cases by rule and decision, "" for none yet; a case that several rules made is there under each."""
    return [(rule, decision, n) for rule, decision, n in _fetched(_RULES, study=study.pk)]


def case_states(study: Study) -> list[tuple[str, str, int]]:
    """Cases by state and decision."""
    rows = ReviewCase.objects.filter(study=study).values_list("state", "decision")
    return list(rows.annotate(n=Count("pk")).order_by("state", "decision"))


def times(study: Study) -> Times:
    (row,) = _fetched(_TIMES, study=study.pk)
    return Times(*row)


def n_undone(study: Study) -> int:
    return CaseEvent.objects.filter(case__study=study, kind=CaseEvent.Kind.UNDONE).count()


def returns(study: Study) -> list[tuple[bool, str, int]]:
    """Returns by whether a rater was asked (else the pool) and state."""
    rows = Return.objects.filter(case__study=study).annotate(to_rater=Q(assignment__isnull=False))
    return list(rows.values_list("to_rater", "state").annotate(n=Count("pk")).order_by("to_rater", "state"))


def blind_answers(question: MeasuredQuestion) -> list[BlindAnswer]:
    """One row per expert's judgment (and candidate, where each is asked about), however many cases rest on it."""
    rows = _fetched(_BLIND, study=question.study_id, questions=list(question.ids), by_review=list(EXCLUSIONS))
    return [BlindAnswer(expert, tuple(raters or ())) for expert, raters in rows]


def rejudging(study: Study) -> Rejudging:
    tasks = Task.objects.filter(study=study, replaces__isnull=False, state=Task.State.READY)
    found = tasks.filter(holds_correction("item_version__")).aggregate(
        tasks=Count("pk"),
        judgments=Sum("n_judgments", default=0),
        wanted=Sum(F("overlap") - F("n_judgments"), default=0),
    )
    return Rejudging(**found)


def _fetched(sql: str, **params: Any) -> Sequence[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        rows: Sequence[tuple[Any, ...]] = cursor.fetchall()
        return rows
