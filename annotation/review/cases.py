"""Review cases: opening, claiming with a time limit, releasing, assigning to experts.

Lock order as everywhere: case, assignment, task, rater, study; several cases by their ids.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from annotation import access
from annotation.access import case_under_review, study_with_review_queue
from annotation.errors import Conflict, FieldProblem, InvalidInput, NotAllowed
from annotation.mail import notices
from annotation.models import (
    CaseEvent,
    CaseReason,
    Membership,
    Return,
    ReviewCase,
    Study,
    User,
)
from annotation.models.people import Role
from annotation.review import queue
from annotation.review.barred_reviewers import bar_reviewer
from annotation.review.queue import QueueFilters
from annotation.review.rules import ReviewSettings
from annotation.studies import audit

# Events and changes of cases.

# What no claim leaves in a case.
UNCLAIMED: dict[str, Any] = {"claimed_by": None, "claim_expires_at": None}


def change_case(case: ReviewCase, **values: Any) -> None:
    """Set these fields of a case that the caller has locked, and save them."""
    for name, value in values.items():
        setattr(case, name, value)
    case.save(update_fields=list(values))


def audit_case(action: str, case: ReviewCase, *, actor: User | None, **data: Any) -> None:
    """Write an event about one case to the audit log."""
    audit.record(action, actor=actor, study=case.study, subject=f"case {case.pk}", **data)


def record_event(case: ReviewCase, kind: CaseEvent.Kind, *, actor: User | None, **data: Any) -> None:
    """Write one event, inside the transaction of the change."""
    CaseEvent.objects.create(case=case, kind=kind, actor=actor, data=data)


def record_events(case_ids: Iterable[int], kind: CaseEvent.Kind, *, actor: User | None, **data: Any) -> None:
    """The same event for many cases, by few statements."""
    events = (CaseEvent(case_id=case_id, kind=kind, actor=actor, data=data) for case_id in case_ids)
    CaseEvent.objects.bulk_create(events, batch_size=5000)


# Opening cases in bulk. Several of these may run at once, beside experts who resolve the same cases: no case
# is opened for a version that is no longer its item's, and none again for votes that an expert has dealt with.


@dataclass(frozen=True)
class Finding:
    """A rule's finding about a version: the task that it concerns most, the time of the newest vote that it rests on
    (None: it rests on none), the evidence, and what it adds to the priority."""

    version_id: int
    task_id: int | None
    newest: datetime | None
    evidence: dict[str, Any]
    weight: float = 0.0


@dataclass(frozen=True)
class OpenedCases:
    n_opened: int
    n_added: int


# FOR SHARE waits for whoever is correcting or withdrawing the item, and then looks again. The last condition, too,
# is asked anew: a case may have been resolved since the rule looked.
_OPEN_SQL = """
INSERT INTO annotation_reviewcase
    (study_id, item_id, item_version_id, task_id, state, decision, priority, rules, n_returns, comment, created_at)
SELECT i.study_id, i.id, f.version, f.task, 'open', '', f.weight, ARRAY[%(rule)s::varchar], 0, '', %(now)s
FROM unnest(%(versions)s::bigint[], %(tasks)s::bigint[], %(newest)s::timestamptz[], %(weights)s::float8[])
    AS f (version, task, newest, weight)
JOIN annotation_item i ON i.current_version_id = f.version AND i.state = 'active'
WHERE NOT EXISTS (
    SELECT 1 FROM annotation_reviewcase c WHERE c.item_version_id = f.version
      AND (c.state <> 'resolved' OR f.newest IS NULL OR c.resolved_at >= f.newest))
ORDER BY i.id
FOR SHARE OF i
ON CONFLICT (item_version_id) WHERE NOT (state = 'resolved') DO NOTHING
RETURNING id, item_version_id
"""

_UNRESOLVED_SQL = """
SELECT id, item_version_id FROM annotation_reviewcase
WHERE item_version_id = ANY(%(versions)s) AND state <> 'resolved'
ORDER BY id
FOR NO KEY UPDATE
"""

_ADD_REASONS_SQL = """
INSERT INTO annotation_casereason (case_id, rule, evidence, fired_at)
SELECT r.id, %(rule)s, r.evidence, %(now)s
FROM unnest(%(cases)s::bigint[], %(evidence)s::jsonb[]) AS r (id, evidence)
ON CONFLICT (case_id, rule) DO NOTHING
RETURNING case_id
"""

# What the expert has judged, or is judging, stays the case's task.
_RAISE_PRIORITY_SQL = """
UPDATE annotation_reviewcase c
SET rules = array_append(c.rules, %(rule)s::varchar), priority = c.priority + r.weight,
    task_id = CASE WHEN c.state = 'open' THEN coalesce(c.task_id, r.task) ELSE c.task_id END
FROM unnest(%(cases)s::bigint[], %(tasks)s::bigint[], %(weights)s::float8[]) AS r (id, task, weight)
WHERE c.id = r.id
"""


def open_cases(rule: str, findings: Sequence[Finding], *, at: datetime, actor: User | None) -> OpenedCases:
    """Open cases for a rule's findings, or add the rule to the reasons of those that are open. Safe to repeat.

    Two transactions, so that nobody waits for an item while holding a case.
    """
    by_version = {finding.version_id: finding for finding in findings}
    opened = _open_new_cases(rule, by_version, at=at, actor=actor)
    left = {version: finding for version, finding in by_version.items() if version not in opened}
    return OpenedCases(len(opened), _add_reasons(rule, left, at=at, actor=actor))


@transaction.atomic
def _open_new_cases(rule: str, findings: dict[int, Finding], *, at: datetime, actor: User | None) -> set[int]:
    values: dict[str, Any] = {
        "versions": list(findings),
        "tasks": [finding.task_id for finding in findings.values()],
        "newest": [finding.newest for finding in findings.values()],
        "weights": [finding.weight for finding in findings.values()],
    }
    with connection.cursor() as cursor:
        cursor.execute(_OPEN_SQL, {"rule": rule, "now": at, **values})
        cases: dict[int, int] = dict(cursor.fetchall())
    CaseReason.objects.bulk_create(
        CaseReason(case_id=case, rule=rule, evidence=findings[version].evidence, fired_at=at)
        for case, version in cases.items()
    )
    record_events(cases, CaseEvent.Kind.OPENED, actor=actor, rule=rule)
    return set(cases.values())


@transaction.atomic
def _add_reasons(rule: str, findings: dict[int, Finding], *, at: datetime, actor: User | None) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_UNRESOLVED_SQL, {"versions": list(findings)})
        cases: dict[int, int] = dict(cursor.fetchall())
        evidence = [json.dumps(findings[version].evidence) for version in cases.values()]
        reasons: dict[str, Any] = {"rule": rule, "now": at, "cases": list(cases), "evidence": evidence}
        cursor.execute(_ADD_REASONS_SQL, reasons)
        added = {case: findings[cases[case]] for (case,) in cursor.fetchall()}
        raised: dict[str, Any] = {
            "cases": list(added),
            "tasks": [finding.task_id for finding in added.values()],
            "weights": [finding.weight for finding in added.values()],
        }
        cursor.execute(_RAISE_PRIORITY_SQL, {"rule": rule, **raised})
    record_events(added, CaseEvent.Kind.FIRED, actor=actor, rule=rule)
    return len(added)


State = ReviewCase.State


@transaction.atomic
def claim(user: User, case_id: int) -> ReviewCase:
    """Take a case to work on, for the study's `claim_minutes`. Claiming one's own again renews it.

    From here on the expert's rater meets none of the version's tasks (BarredRater), and an open lease of theirs on one
    goes back. A case that waits for raters (returned) can be claimed, too: nobody is bound to wait. Raises Conflict:
    `claimed_by_other`, `assigned_to_other`, `resolved`.
    """
    case = case_under_review(user, case_id, lock=True)
    _refuse_resolved(case)
    if _is_claim_alive(case) and case.claimed_by_id != user.pk:
        raise _claimed_by_other(case)
    if case.assigned_to_id not in (None, user.pk):
        message = (
            f"This case was given to {case.assigned_to}. Whoever runs the study can give it to somebody else."
        )
        raise Conflict(message, code="assigned_to_other")
    return _claim_locked(case, user)


@transaction.atomic
def claim_next(
    user: User, slug: str, filters: QueueFilters, *, except_case: int | None = None
) -> ReviewCase | None:
    """Continue a case that the expert has claimed, or else claim the open case of the highest priority among those that
    the filters let through; cases assigned to them come first. `except_case` is the one that they are about to leave.

    Cases that others are taking at this moment are passed over. None when nothing is left.
    """
    reviewed = study_with_review_queue(user, slug)
    if reviewed.manages:
        raise NotAllowed("You run this study and see its votes; reviewing is for its experts.")
    expire_claims(limit=100)
    for candidates in queue.claimable_cases(reviewed.study, filters, user=user):
        others = candidates if except_case is None else candidates.exclude(pk=except_case)
        free = others.select_for_update(skip_locked=True, of=("self",))
        first = free.values_list("pk", flat=True).first()
        if first is not None:
            return _claim_locked(case_under_review(user, first, lock=True), user)
    return None


@transaction.atomic
def renew_claim(user: User, case_id: int) -> ReviewCase:
    """Renew a live claim: the heartbeat of an open desk. Raises as `claimed_case`."""
    case = claimed_case(user, case_id)
    change_case(case, claim_expires_at=_claim_end(case))
    return case


@transaction.atomic
def put_back(user: User, case_id: int) -> ReviewCase:
    """Give up a claim; the case is open (or, while raters are still asked, returned) again. Twice is once."""
    case = case_under_review(user, case_id, lock=True)
    if case.state == State.CLAIMED and case.claimed_by_id == user.pk:
        release_claim(case, actor=user)
        audit_case("case.put_back", case, actor=user)
    return case


def claimed_case(user: User, case_id: int) -> ReviewCase:
    """The case, locked until the transaction ends, if this user's claim of it is alive: every write at the desk begins
    so. With its study, item, version and task. Raises Conflict: `resolved`, `claimed_by_other`, `claim_lost`."""
    case = case_under_review(user, case_id, lock=True)
    _refuse_resolved(case)
    if not _is_claim_alive(case):
        raise Conflict(
            "Your claim of this case has expired, or you released it. Claim it again.", code="claim_lost"
        )
    if case.claimed_by_id != user.pk:
        raise _claimed_by_other(case)
    return case


@transaction.atomic
def assign(user: User, slug: str, case_ids: Sequence[int], *, expert: str | None) -> int:
    """Give unresolved cases to one of the study's experts (by e-mail address), or to nobody (None); those who run the
    study do. Whoever else is at one of them loses the claim. Returns how many changed."""
    study = access.managed_study(user, slug)
    to = _expert(study, expert) if expert else None
    changed = [
        case
        for case in _lock_cases(study, case_ids)
        if case.state != ReviewCase.State.RESOLVED and case.assigned_to_id != (to.pk if to else None)
    ]
    for case in changed:
        change_case(case, assigned_to=to)
        record_event(case, CaseEvent.Kind.ASSIGNED, actor=user, to=to.name if to else "")
        if to and case.claimed_by_id not in (None, to.pk):
            release_claim(case, actor=user)
    audit.record(
        "cases.assigned", actor=user, study=study, subject=f"user {to.pk}" if to else "nobody",
        cases=[case.pk for case in changed],
    )  # fmt: skip
    if to:
        notices.cases_assigned(study, to, n=len(changed), actor=user)
    return len(changed)


@transaction.atomic
def release_member_cases(study: Study, user: User, *, actor: User | None) -> int:
    """Give unresolved cases that this account has, or was given, back to everybody: it reviews here no more. Returns
    how many."""
    own_cases = Q(assigned_to=user) | Q(claimed_by=user, state=State.CLAIMED)
    locked = ReviewCase.objects.select_for_update(of=("self",)).filter(own_cases, study=study)
    released = list(locked.exclude(state=State.RESOLVED).order_by("pk"))
    for case in released:
        if case.claimed_by_id == user.pk:
            release_claim(case, actor=actor)
        if case.assigned_to_id == user.pk:
            change_case(case, assigned_to=None)
            record_event(case, CaseEvent.Kind.ASSIGNED, actor=actor, to="")
    if released:
        ids = [case.pk for case in released]
        audit.record("cases.let_go", actor=actor, study=study, subject=f"user {user.pk}", cases=ids)
    return len(released)


@transaction.atomic
def expire_claims(*, limit: int = 1000) -> int:
    """Put back cases whose claims ran out. Returns how many. Safe to run at any time."""
    due = ReviewCase.objects.select_for_update(skip_locked=True, of=("self",)).filter(
        state=State.CLAIMED, claim_expires_at__lte=timezone.now()
    )
    cases = list(due.select_related("study").order_by("claim_expires_at")[:limit])
    by_study: dict[Study, list[int]] = {}
    for case in cases:
        release_claim(case, actor=None)
        by_study.setdefault(case.study, []).append(case.pk)
    for study, expired in by_study.items():
        audit.record("cases.expired", actor=None, study=study, cases=expired)
    return len(cases)


def release_claim(case: ReviewCase, *, actor: User | None) -> None:
    """End the claim of a case that the caller has locked. Nobody's doing (None) is that its time ran out."""
    awaited = Return.objects.filter(case=case, state=Return.State.WAITING).exists()
    change_case(case, state=State.RETURNED if awaited else State.OPEN, **UNCLAIMED)
    record_event(case, CaseEvent.Kind.RELEASED, actor=actor, expired=actor is None)


def _claim_locked(case: ReviewCase, user: User) -> ReviewCase:
    renewed = _is_claim_alive(case)
    if case.state == State.CLAIMED and not renewed:  # its time ran out, and no sweep has come by yet
        record_event(case, CaseEvent.Kind.RELEASED, actor=None, expired=True)
        audit.record("cases.expired", actor=None, study=case.study, cases=[case.pk])
    change_case(case, state=State.CLAIMED, claimed_by=user, claim_expires_at=_claim_end(case))
    if not renewed:
        record_event(case, CaseEvent.Kind.CLAIMED, actor=user)
        audit_case("case.claimed", case, actor=user)
    bar_reviewer(user, case)  # each time: its version may have new tasks
    return case


def resolve_case(case: ReviewCase, decision: ReviewCase.Decision, *, by: User | None, **values: Any) -> None:
    """Settle a case that the caller has locked; its returns and drafts are the caller's to close."""
    now = timezone.now()
    change_case(
        case, state=State.RESOLVED, decision=decision, decided_by=by, resolved_at=now, **UNCLAIMED, **values
    )


def _is_claim_alive(case: ReviewCase) -> bool:
    return (
        case.state == State.CLAIMED
        and case.claim_expires_at is not None
        and case.claim_expires_at > timezone.now()
    )


def _claim_end(case: ReviewCase) -> datetime:
    return timezone.now() + timedelta(minutes=ReviewSettings.of(case.study.rules).claim_minutes)


def _refuse_resolved(case: ReviewCase) -> None:
    if case.state == State.RESOLVED:
        decision = case.get_decision_display()
        raise Conflict(f"This case is settled already: {decision}.", code="resolved")


def _claimed_by_other(case: ReviewCase) -> Conflict:
    return Conflict(f"{case.claimed_by} is working on this case now.", code="claimed_by_other")


def _lock_cases(study: Study, case_ids: Sequence[int]) -> list[ReviewCase]:
    locked = ReviewCase.objects.select_for_update(of=("self",)).filter(study=study, pk__in=set(case_ids))
    cases = list(locked.order_by("pk"))
    known = {case.pk for case in cases}
    problems = [
        FieldProblem(f"case_ids[{i}]", f"There is no case {case_id} in this study.")
        for i, case_id in enumerate(case_ids)
        if case_id not in known
    ]
    if problems:
        raise InvalidInput("Some cases are not there; nothing was changed.", problems=problems)
    return cases


def _expert(study: Study, email: str) -> User:
    experts = Membership.objects.select_related("user").filter(study=study, role=Role.EXPERT)
    membership = experts.filter(user__email=email.strip().lower()).first()
    if membership is None:
        problem = FieldProblem(
            "expert", f"{email} is not an expert of this study.", "Invite them as one first."
        )
        raise InvalidInput("This case cannot be given to them.", problems=[problem])
    return membership.user
