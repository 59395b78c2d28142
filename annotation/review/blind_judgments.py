"""Blinding of experts: their independent judgment of a case, before they see the judgments of others.

It is stored but never counted: it takes no place of its task's overlap, draws no order of the task's balance, and
changes no counter of task, rater or study. What raters see before their votes is in `rating.briefings`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from annotation import access
from annotation.access import HeldAssignment
from annotation.errors import Conflict, NotFound
from annotation.listening import coverage
from annotation.models import Assignment, CaseEvent, Judgment, Rater, ReviewCase, TaskCandidate, User
from annotation.rating import briefings, judgments
from annotation.rating.judgments import INSERT_JUDGMENT, Receipt, Submission
from annotation.rating.rules import counterbalancing
from annotation.review import cases
from annotation.studies import audit
from annotation.studies.protocols import load_protocol

REVIEWING, REVIEWED = Assignment.State.REVIEWING, Assignment.State.REVIEWED

_RECORD = f"""
WITH guard AS (
    UPDATE annotation_assignment SET state = %(reviewed)s, closed_at = %(now)s WHERE id = %(assignment)s RETURNING id
), {INSERT_JUDGMENT}
SELECT id FROM judgment
"""


@transaction.atomic
def begin_blind(user: User, case_id: int) -> Assignment | None:
    """The assignment by which this expert judges the case blind: made at the first call, the same ever after.

    None where the case has no task. An expert who judged the same task blind before, for an earlier case, is not
    asked again: the case gets that judgment.
    """
    case = cases.claimed_case(user, case_id)
    if case.task_id is None:
        return None
    assignment = _review_assignment(case, user)
    if assignment is None:
        return _draw_assignment(case, _rater(case, user), until=case.claim_expires_at or timezone.now())
    if assignment.state == REVIEWED:
        judgment = Judgment.objects.get(assignment=assignment)
        if case.blind_judgment_id != judgment.pk:
            _record_blind_judgment(case, user, judgment, earlier=True)
    return assignment


def blind_briefing(user: User, case_id: int) -> dict[str, Any]:
    """What the desk may show before the judgment: the task as a rater would see it (`briefings.brief`).

    Raises Conflict `not_begun` before `begin`.
    """
    case = access.case_under_review(user, case_id)
    assignment = _review_assignment(case, user)
    if assignment is None:
        raise Conflict("Open the case at the desk first; then its task can be judged.", code="not_begun")
    return briefings.brief(assignment)


def judge_blind(user: User, case_id: int, submission: Submission) -> Receipt:
    """Store the expert's judgment, by the rules that hold for raters' votes: whole, valid, and heard.

    A replay of the same submission gets the first result, also once the claim is gone; another one a Conflict.
    """
    case = access.case_under_review(user, case_id)
    if receipt := _replayed_receipt(case, submission):
        return receipt
    return _store_judgment(user, case_id, submission)


def has_judged_blind(case: ReviewCase, user: User) -> bool:
    """Whether this expert may see what others said: they judged the case's task blind, or it has none."""
    if case.task_id is None:
        return True
    return Assignment.objects.filter(task=case.task, rater__user=user, state=REVIEWED).exists()


def judged_case(user: User, case_id: int) -> ReviewCase:
    """A case whose votes, drafts and opinions this expert may know. Raises NotFound; NotAllowed for who runs the
    study."""
    case = access.case_under_review(user, case_id)
    if not may_see_votes(case, user):
        raise NotFound
    return case


def may_see_votes(case: ReviewCase, user: User) -> bool:
    """The same of an expert who asks for a case: one without a task is known to whoever is at it, or decided it."""
    if case.task_id is None and user.pk not in (case.claimed_by_id, case.decided_by_id):
        return False
    return has_judged_blind(case, user)


@transaction.atomic
def _store_judgment(user: User, case_id: int, submission: Submission) -> Receipt:
    case = cases.claimed_case(user, case_id)
    if receipt := _replayed_receipt(case, submission):
        return receipt
    assignment = _review_assignment(case, user)
    if assignment is None:
        raise Conflict("Open the case at the desk first; then its task can be judged.", code="not_begun")
    if assignment.state == REVIEWED:
        message = "You have judged this case already, perhaps in another window. The first answer stands."
        raise Conflict(message, code="already_submitted")
    held = _held_assignment(case, assignment)
    judgments.check_answers(held, submission)
    gains = coverage.require_listening(held, submission.telemetry)
    _record_blind_judgment(case, user, _record_judgment(held, submission, gains=gains))
    return Receipt(submission.client_id, replayed=False, surplus=False)


def _replayed_receipt(case: ReviewCase, submission: Submission) -> Receipt | None:
    return judgments.stored_receipt(Judgment.objects.filter(task=case.task), submission)


def _rater(case: ReviewCase, user: User) -> Rater:
    return Rater.objects.get(study_id=case.study_id, user=user)


def _review_assignment(case: ReviewCase, user: User) -> Assignment | None:
    """This expert's review of the case's task, whichever case it was made for."""
    reviews = Assignment.objects.filter(task=case.task, state__in=(REVIEWING, REVIEWED))
    return reviews.filter(rater__study_id=case.study_id, rater__user=user).first()


def _draw_assignment(case: ReviewCase, rater: Rater, *, until: datetime) -> Assignment:
    """An order of the expert's own, drawn apart from the raters' and not counted among theirs."""
    assert case.task is not None
    protocol = load_protocol(case.study.protocol_version_id)
    order = counterbalancing.draw_order(
        TaskCandidate.objects.filter(task=case.task).count(),
        layout=protocol.spec.layout,
        balance=0,
        n_draws=rater.pk,
        seed=case.study.seed ^ case.task.pk,
    )
    return Assignment.objects.create(
        task=case.task,
        rater=rater,
        protocol_version_id=protocol.version_id,
        state=REVIEWING,
        presentation=order,
        expires_at=until,
    )


def _held_assignment(case: ReviewCase, assignment: Assignment) -> HeldAssignment:
    assert case.task is not None
    return HeldAssignment(
        id=assignment.pk,
        state=assignment.state,
        presentation=assignment.presentation,
        leased_at=assignment.leased_at,
        protocol_version_id=assignment.protocol_version_id,
        rater_id=assignment.rater_id,
        task_id=assignment.task_id,
        task_state=case.task.state,
        study_id=case.study_id,
    )


def _record_judgment(
    assignment: HeldAssignment, submission: Submission, *, gains: list[float | None] | None
) -> Judgment:
    params = judgments.judgment_params(
        assignment,
        submission,
        origin=Judgment.Origin.EXPERT,
        gains=gains,
        started_at=assignment.leased_at,
        counted=False,
    )
    with connection.cursor() as cursor:
        cursor.execute(_RECORD, {**params, "reviewed": int(REVIEWED)})
        return Judgment.objects.get(pk=cursor.fetchone()[0])


def _record_blind_judgment(
    case: ReviewCase, user: User, judgment: Judgment, *, earlier: bool = False
) -> None:
    """Write down that the case was judged. Who has rated the task before judges it from memory: that is kept, too."""
    case.blind_judgment = judgment
    case.save(update_fields=["blind_judgment"])
    rated_before = Judgment.objects.filter(task=case.task, rater=judgment.rater).exclude(
        origin=Judgment.Origin.EXPERT
    )
    cases.record_event(
        case, CaseEvent.Kind.JUDGED, actor=user, judgment=str(judgment.client_id),
        rated_before=rated_before.exists(), earlier=earlier,
    )  # fmt: skip
    audit.record("case.judged", actor=user, study=case.study, subject=f"case {case.pk}")
