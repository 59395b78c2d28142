"""Revisions of a judgment while the study lets its rater: a new row that stands in the place of the one before.

No counter moves and no order is drawn: the place in the task was taken by the first vote. What was heard for that
vote was heard; it is not asked for again.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from annotation import access
from annotation.access import HeldAssignment
from annotation.checks import outcomes
from annotation.errors import Conflict, NotFound
from annotation.listening.rules.coverage import ListeningRules
from annotation.models import Answer, Judgment, Study, Task, TaskCandidate, User
from annotation.rating import judgments, overlap
from annotation.rating.judgments import INSERT_JUDGMENT, Receipt, Submission
from annotation.rating.rules import answers as rules
from annotation.review import barred_reviewers, returns
from annotation.studies import audit
from annotation.studies.protocols import load_protocol

# One statement: the row that stood steps back with its answers, and the next takes its place. Until when and by whom
# it may is decided before; what was shown, and how loud, is what it was.
_REVISE = f"""
WITH guard AS (
    UPDATE annotation_judgment SET effective = false WHERE id = %(before)s RETURNING id
), silenced AS (
    UPDATE annotation_answer SET counted = false FROM guard WHERE judgment_id = guard.id
), {INSERT_JUDGMENT}, outcome AS (
    UPDATE annotation_checkoutcome SET judgment_id = judgment.id, passed = %(passed)s, score = %(score)s
    FROM judgment WHERE judgment_id = %(before)s
)
SELECT id FROM judgment
"""


@dataclass(frozen=True)
class OwnJudgment:
    """A rater's own vote as they gave it: sides, positions and codes as shown to them."""

    client_id: uuid.UUID
    revision: int
    answers: list[dict[str, Any]]
    codes: list[str]
    comment: str
    telemetry: dict[str, Any] | None
    submitted_at: datetime
    # None: for as long as the expert who returned it waits.
    changeable_until: datetime | None


@transaction.atomic
def revise(user: User, assignment_id: uuid.UUID, submission: Submission) -> Receipt:
    """Store a changed vote. A replay of the same change gets the first result.

    Locks the assignment, then the task: two changes come one after the other, and an exclusion before or after them.
    Where an expert has asked the rater to look again, their case before both; the window is then open until they did.
    """
    case = returns.case_awaiting(user, assignment_id)
    assignment = access.held_assignment(user, assignment_id, lock=True)
    if receipt := judgments.stored_receipt(Judgment.objects.filter(assignment_id=assignment.id), submission):
        return receipt
    overlap.lock_tasks([assignment.task_id])
    study = Study.objects.only("rules").get(pk=assignment.study_id)
    before = _effective_judgment(assignment)
    _check_not_reviewing(assignment)
    if case is None:
        _check_window(assignment, study)
    judgments.check_answers(assignment, submission)
    _record(assignment, submission, before=before)
    audit.record(
        "judgment.revised", actor=user, study=study, subject=f"judgment {submission.client_id}",
        revision=before.revision + 1, before=str(before.client_id),
    )  # fmt: skip
    if case is not None:
        returns.close_answered(case, assignment.id, actor=user)
    return Receipt(submission.client_id, replayed=False, surplus=False)


def own_judgment(user: User, assignment_id: uuid.UUID) -> OwnJudgment:
    """What this account's rater said of an assignment, last of all."""
    assignment = access.held_assignment(user, assignment_id)
    last = Judgment.objects.filter(assignment_id=assignment.id).order_by("-revision").first()
    if last is None:
        raise NotFound
    study = Study.objects.only("rules").get(pk=assignment.study_id)
    return OwnJudgment(
        client_id=last.client_id,
        revision=last.revision,
        answers=_as_shown(assignment, last),
        codes=last.codes,
        comment=last.comment,
        telemetry=last.telemetry,
        submitted_at=last.submitted_at,
        changeable_until=None if returns.is_awaited(assignment.id) else _changeable_until(assignment, study),
    )


def _effective_judgment(assignment: HeldAssignment) -> Judgment:
    """The judgment that a change would replace. Why there is none is not told: quality checks stay unseen."""
    withdrawn = Task.objects.filter(pk=assignment.task_id, state=Task.State.WITHDRAWN).exists()
    # A surplus answer is changed like any other, and stays surplus: that it cannot be changed would tell what it is.
    rows = Judgment.objects.filter(Q(effective=True) | Q(surplus=True), assignment_id=assignment.id)
    judgment = rows.filter(excluded=False).order_by("-revision").first()
    if judgment is None or withdrawn:
        raise Conflict("This answer cannot be changed any more.", code="not_changeable")
    return judgment


def _check_window(assignment: HeldAssignment, study: Study) -> None:
    if timezone.now() > _changeable_until(assignment, study):
        raise Conflict("The time to change this answer is over; it stands as it is.", code="window_closed")


def _check_not_reviewing(assignment: HeldAssignment) -> None:
    """Whoever has asked them to look again: an expert who reads what others said changes no vote that counts."""
    if barred_reviewers.is_reviewer(assignment.task_id, assignment.rater_id):
        raise Conflict(
            "You review this item now and see what others said, so your earlier answer stands.",
            code="reviews",
        )


def _changeable_until(assignment: HeldAssignment, study: Study) -> datetime:
    """Counted from the first vote: a change does not open the window again."""
    first = (
        Judgment.objects.filter(assignment_id=assignment.id)
        .order_by("revision")
        .values("submitted_at")[:1]
        .get()
    )
    minutes = ListeningRules.of(study.rules).change_minutes
    if assignment.kind == Task.Kind.TRAINING:  # its rater has seen what was expected
        minutes = 0
    submitted_at: datetime = first["submitted_at"]
    return submitted_at + timedelta(minutes=minutes)


def _record(assignment: HeldAssignment, submission: Submission, *, before: Judgment) -> None:
    params = judgments.judgment_params(
        assignment,
        submission,
        origin=before.origin,
        gains=before.gains,
        started_at=None,
        revision=before.revision + 1,
        surplus=before.surplus,
    )
    outcome = outcomes.outcome_of(assignment, submission.answers)
    replaced = {"before": before.pk, "presentation": before.presentation}
    with connection.cursor() as cursor:
        cursor.execute(_REVISE, {**params, **replaced, "passed": outcome.passed, "score": outcome.score})


def _as_shown(assignment: HeldAssignment, judgment: Judgment) -> list[dict[str, Any]]:
    """The answers in the words of the rater's page, the way they were sent."""
    slots = dict(TaskCandidate.objects.filter(task_id=assignment.task_id).values_list("candidate_id", "slot"))
    rows = Answer.objects.filter(judgment=judgment).order_by("pk").select_related("question")
    return rules.answers_as_shown(
        load_protocol(judgment.protocol_version_id).spec,
        [
            rules.CanonicalAnswer(
                row.question.key,
                None if row.candidate_id is None else slots.get(row.candidate_id),
                row.choice,
                row.value,
                row.confidence,
                row.text,
                None if row.selected is None else tuple(row.selected),
                None if row.events is None else tuple(row.events),
            )
            for row in rows
        ],
        assignment.presentation,
    )
