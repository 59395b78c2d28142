"""Counted (valid, effective) judgments: the SQL conditions of figures, and how many judgments count or are left out."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import F

from analytics.data.postgres import fetch_rows
from analytics.data.questions import MeasuredQuestion
from annotation.models import Exclusion, Judgment, OrderingPolicy, Study, Task
from annotation.raters import actions
from annotation.rating import counted

COUNTED, EXCLUDED, SUPERSEDED, SURPLUS, EXPERT = "counted", "excluded", "superseded", "surplus", "expert"

# The first that applies; a judgment that somebody excluded and that is a rater's own earlier one is not counted twice.
_FATES_SQL = f"""
SELECT CASE WHEN j.origin = {Judgment.Origin.EXPERT:d} THEN '{EXPERT}'
            WHEN t.kind = {Task.Kind.TRAINING:d} THEN 'training' WHEN t.kind = {Task.Kind.GOLD:d} THEN 'gold'
            WHEN t.kind = {Task.Kind.TRAP:d} THEN 'trap' WHEN t.kind = {Task.Kind.REPEAT:d} THEN 'repeat'
            WHEN t.kind = {Task.Kind.IDENTICAL:d} THEN 'identical'
            WHEN j.surplus THEN '{SURPLUS}' WHEN NOT j.effective THEN '{SUPERSEDED}'
            WHEN j.excluded THEN '{EXCLUDED}' ELSE '{COUNTED}' END AS fate,
       CASE WHEN j.excluded THEN coalesce(
           (SELECT x.reason FROM annotation_exclusion x
            WHERE x.judgment_id = j.id AND x.action = '{Exclusion.Action.EXCLUDE}' ORDER BY x.id DESC LIMIT 1), '')
            ELSE '' END AS reason,
       count(*)
FROM annotation_judgment j JOIN annotation_task t ON t.id = j.task_id
WHERE j.study_id = %(study)s
      AND {counted.NOT_WITHDRAWN}
GROUP BY fate, reason
"""

# Each rater's and each task's first such judgment is found by index; counting distinct ones would sort every judgment.
_MATERIAL_SQL = f"""
SELECT (SELECT count(*) FROM annotation_item i WHERE i.study_id = %(study)s),
       (SELECT count(*) FROM annotation_task t WHERE t.study_id = %(study)s AND {counted.REGULAR_TASK}),
       (SELECT count(*) FROM annotation_task t WHERE t.study_id = %(study)s AND {counted.REGULAR_TASK}
        AND EXISTS (SELECT 1 FROM annotation_judgment j WHERE j.task_id = t.id AND {counted.COUNTED})),
       (SELECT count(*) FROM annotation_system s WHERE s.study_id = %(study)s),
       (SELECT count(*) FROM annotation_rater r WHERE r.study_id = %(study)s AND EXISTS (
            SELECT 1 FROM annotation_judgment j JOIN annotation_task t ON t.id = j.task_id
            WHERE j.rater_id = r.id AND {counted.REGULAR_TASK} AND {counted.COUNTED}))
"""


@dataclass(frozen=True)
class JudgmentFate:
    """`reason`: of an exclusion, a code of `review.rules.REVIEW_EXCLUSIONS` or what somebody wrote."""

    fate: str
    reason: str
    n: int


@dataclass(frozen=True)
class MaterialCounts:
    """tasks: regular ones, `judged` of them with a judgment that counts. raters: named ones whose judgments count."""

    items: int
    tasks: int
    judged: int
    systems: int
    raters: int


def judgment_fates(study: Study) -> list[JudgmentFate]:
    """By name of the fate and reason."""
    fates = (JudgmentFate(*row) for row in fetch_rows(_FATES_SQL, study=study.pk))
    return sorted(fates, key=lambda row: (row.fate, row.reason))


def material_counts(study: Study) -> MaterialCounts:
    return MaterialCounts(*fetch_rows(_MATERIAL_SQL, study=study.pk)[0])


# A changed vote keeps the place of the one it changed; a row that nobody changed needs no look at others.
FIRST_VOTE_TIME_SQL = """(CASE WHEN j.revision = 1 OR j.assignment_id IS NULL THEN j.submitted_at ELSE (
        SELECT first.submitted_at FROM annotation_judgment first
        WHERE first.assignment_id = j.assignment_id AND first.revision = 1
    ) END)"""


def first_votes_condition(question: MeasuredQuestion) -> str:
    """SQL for answers `a` of %(study)s: a further condition that keeps those of the first votes, or nothing.

    Where a stopping rule asks for more votes while they differ, all votes together are no sample of raters' agreement.
    """
    if question.first_votes is None:
        return ""
    return f"""AND a.judgment_id IN (
        SELECT id FROM (
            SELECT j.id, row_number() OVER (PARTITION BY j.task_id ORDER BY {FIRST_VOTE_TIME_SQL}, j.id) AS place
            FROM annotation_judgment j
            WHERE j.study_id = %(study)s AND {counted.COUNTED}
        ) AS ordered WHERE place <= {question.first_votes:d}
    )"""


@dataclass(frozen=True)
class VoteOrigins:
    """Counted judgments that are no plain sample of people's votes: how many are simulated, and of how many an ordering
    policy chose the task. `short`: where it chose some, the tasks with fewer judgments than they want."""

    simulated: int
    ordered: int
    short: int


def vote_origins(study: Study) -> VoteOrigins:
    judgments = Judgment.objects.filter(counted.IS_COUNTED, study=study, task__kind=Task.Kind.REGULAR)
    simulated = judgments.filter(origin=Judgment.Origin.SIMULATED).count()
    # Most studies never had a policy: no assignment of theirs is looked at.
    ordered = 0
    if OrderingPolicy.objects.filter(study=study).exists():
        ordered = judgments.filter(assignment__policy__isnull=False).count()
    short = Task.objects.filter(
        study=study, kind=Task.Kind.REGULAR, state=Task.State.READY, n_judgments__lt=F("overlap")
    )
    return VoteOrigins(simulated, ordered, short.count() if ordered else 0)


# The performance spelling of "counted answers to regular tasks": index-only, with no join of every judgment.
COUNTED_ANSWERS_SQL = f"""
FROM annotation_answer a
WHERE a.question_id = ANY(%(questions)s) AND a.counted
  AND NOT EXISTS (SELECT 1 FROM annotation_task t
                  WHERE t.id = a.task_id AND t.study_id = %(study)s AND t.kind <> {Task.Kind.REGULAR:d})
  AND NOT EXISTS (SELECT 1 FROM annotation_judgment j
                  WHERE j.id = a.judgment_id AND j.study_id = %(study)s AND j.origin = {Judgment.Origin.EXPERT:d})
"""


# A version that a correction made, or that came later and holds a correction which was not undone.
CORRECTED_VERSIONS_SQL = """
corrected AS (
    SELECT DISTINCT later.id FROM annotation_itemversion later
    JOIN annotation_itemversion v ON v.item_id = later.item_id
        AND (v.id = later.id OR (v.number < later.number AND NOT v.retracted))
    JOIN annotation_correction c ON c.version_after_id = v.id
    JOIN annotation_item i ON i.id = v.item_id AND i.study_id = %(study)s
)
"""

# The last mark of a judgment is the one that stands. A model that writes an item's text anew replaces a version too,
# with the same reason, but no correction that stands begins at that version.
# Whether the last mark of an excluded judgment is a quality rule's (`annotation.raters.actions`), of its rater.
EXCLUDED_BY_RULE_SQL = f"""
(SELECT x.reason = '{actions.EXCLUSION_REASON}' AND EXISTS (
            SELECT 1 FROM annotation_rateraction act
            WHERE act.rater_id = j.rater_id AND act.rule <> '' AND x.comment = 'action ' || act.id)
 FROM annotation_exclusion x WHERE x.judgment_id = j.id ORDER BY x.id DESC LIMIT 1)
"""
EXCLUDED_BY_REVIEW_SQL = f"""
(SELECT x.action = '{Exclusion.Action.EXCLUDE}' AND x.reason = ANY(%(by_review)s)
        AND (x.reason <> 'item_corrected' OR EXISTS (
            SELECT 1 FROM annotation_correction began JOIN annotation_task judged ON judged.id = j.task_id
            JOIN annotation_itemversion made ON made.id = began.version_after_id AND NOT made.retracted
            WHERE began.version_before_id = judged.item_version_id))
 FROM annotation_exclusion x WHERE x.judgment_id = j.id ORDER BY x.id DESC LIMIT 1)
"""
