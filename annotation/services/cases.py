"""Review cases in the hands of experts: claimed, kept, put back, given to one of them.

Lock order as everywhere: case, assignment, task, rater, study; several cases by their ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from annotation import access, audit
from annotation.errors import Conflict, FieldProblem, InvalidInput, NotAllowed
from annotation.models import (
    CaseEvent,
    ItemVersion,
    Membership,
    Return,
    ReviewCase,
    Study,
    Task,
    User,
)
from annotation.models.people import Role
from annotation.review_access import reviewed_case, study_with_queue
from annotation.rules.review import ReviewSettings
from annotation.services import case_events, case_opening, case_queue
from annotation.services.case_queue import Filters
from annotation.services.reviewers import bar

State = ReviewCase.State
_CLAIM_FIELDS = ("state", "claimed_by", "claim_expires_at")


def open_or_add(
    version: ItemVersion,
    *,
    rule: str,
    evidence: Mapping[str, Any],
    task: Task | None = None,
    weight: float = 1.0,
    fired_at: datetime | None = None,
) -> bool:
    """Open a case for a version, or give the one it has a further reason. False where the rule has fired before, or
    the version is not its item's any more. `weight` is what the rule adds to the case's priority."""
    at = fired_at or timezone.now()
    found = case_opening.Found(version.pk, task.pk if task else None, at, dict(evidence), weight)
    opened = case_opening.open_all(rule, [found], at=at, actor=None)
    return bool(opened.n_opened + opened.n_added)


@transaction.atomic
def claim(user: User, case_id: int) -> ReviewCase:
    """Take a case to work on, for the study's `claim_minutes`. Claiming one's own again renews it.

    From here on the expert's rater meets none of the version's tasks (BarredRater), and an open lease of theirs on one
    goes back. A case that waits for raters (returned) can be claimed, too: nobody is bound to wait. Raises Conflict:
    `claimed_by_other`, `assigned_to_other`, `resolved`.
    """
    case = reviewed_case(user, case_id, lock=True)
    _refuse_resolved(case)
    if _is_held(case) and case.claimed_by_id != user.pk:
        raise _claimed_by_other(case)
    if case.assigned_to_id not in (None, user.pk):
        message = (
            f"This case was given to {case.assigned_to}. Whoever runs the study can give it to somebody else."
        )
        raise Conflict(message, code="assigned_to_other")
    return _take(case, user)


@transaction.atomic
def claim_next(user: User, slug: str, filters: Filters, *, but: int | None = None) -> ReviewCase | None:
    """Go on with a case that the expert has claimed, or else claim the open case of the highest priority, of those that
    the filters let through; cases that they were given first. `but` is the case that they are about to leave.

    Cases that others are taking at this moment are passed over. None when nothing is left.
    """
    found = study_with_queue(user, slug)
    if found.manages:
        raise NotAllowed("You run this study and see its votes; reviewing is for its experts.")
    expire_claims(limit=100)
    for whose in case_queue.claimable(found.study, filters, user=user):
        wanted = whose if but is None else whose.exclude(pk=but)
        free = wanted.select_for_update(skip_locked=True, of=("self",))
        first = free.values_list("pk", flat=True).first()
        if first is not None:
            return _take(reviewed_case(user, first, lock=True), user)
    return None


@transaction.atomic
def keep(user: User, case_id: int) -> ReviewCase:
    """Renew a live claim: the heartbeat of an open desk. Raises as `held`."""
    case = held(user, case_id)
    case.claim_expires_at = _claim_end(case)
    case.save(update_fields=["claim_expires_at"])
    return case


@transaction.atomic
def put_back(user: User, case_id: int) -> ReviewCase:
    """Give up a claim; the case is open (or, while raters are still asked, returned) again. Twice is once."""
    case = reviewed_case(user, case_id, lock=True)
    if case.state == State.CLAIMED and case.claimed_by_id == user.pk:
        release(case, actor=user)
        audit.record("case.put_back", actor=user, study=case.study, subject=f"case {case.pk}")
    return case


def held(user: User, case_id: int) -> ReviewCase:
    """The case, locked until the transaction ends, if this user's claim of it is alive: every write at the desk begins
    so. With its study, item, version and task. Raises Conflict: `resolved`, `claimed_by_other`, `claim_lost`."""
    case = reviewed_case(user, case_id, lock=True)
    _refuse_resolved(case)
    if not _is_held(case):
        raise Conflict(
            "Your time with this case ran out, or you put it back. Claim it again.", code="claim_lost"
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
    found = _locked(study, case_ids)
    changed = [
        case
        for case in found
        if case.state != ReviewCase.State.RESOLVED and case.assigned_to_id != (to.pk if to else None)
    ]
    for case in changed:
        case.assigned_to = to
        case.save(update_fields=["assigned_to"])
        case_events.record(case, CaseEvent.Kind.ASSIGNED, actor=user, to=to.name if to else "")
        if to and case.claimed_by_id not in (None, to.pk):
            release(case, actor=user)
    audit.record(
        "cases.assigned", actor=user, study=study, subject=f"user {to.pk}" if to else "nobody",
        cases=[case.pk for case in changed],
    )  # fmt: skip
    return len(changed)


@transaction.atomic
def let_go(study: Study, user: User, *, actor: User | None) -> int:
    """Give unresolved cases that this account has, or was given, back to everybody: it reviews here no more. Returns
    how many."""
    own = Q(assigned_to=user) | Q(claimed_by=user, state=State.CLAIMED)
    found = ReviewCase.objects.select_for_update(of=("self",)).filter(own, study=study)
    left = list(found.exclude(state=State.RESOLVED).order_by("pk"))
    for case in left:
        if case.claimed_by_id == user.pk:
            release(case, actor=actor)
        if case.assigned_to_id == user.pk:
            case.assigned_to = None
            case.save(update_fields=["assigned_to"])
            case_events.record(case, CaseEvent.Kind.ASSIGNED, actor=actor, to="")
    if left:
        audit.record(
            "cases.let_go", actor=actor, study=study, subject=f"user {user.pk}", cases=[case.pk for case in left]
        )  # fmt: skip
    return len(left)


@transaction.atomic
def expire_claims(*, limit: int = 1000) -> int:
    """Put back cases whose claims ran out. Returns how many. Safe to run at any time."""
    due = ReviewCase.objects.select_for_update(skip_locked=True, of=("self",)).filter(
        state=State.CLAIMED, claim_expires_at__lte=timezone.now()
    )
    cases = list(due.select_related("study").order_by("claim_expires_at")[:limit])
    by_study: dict[Study, list[int]] = {}
    for case in cases:
        release(case, actor=None)
        by_study.setdefault(case.study, []).append(case.pk)
    for study, expired in by_study.items():
        audit.record("cases.expired", actor=None, study=study, cases=expired)
    return len(cases)


def release(case: ReviewCase, *, actor: User | None) -> None:
    """End the claim of a case that the caller has locked. Nobody's doing (None) is that its time ran out."""
    waits = Return.objects.filter(case=case, state=Return.State.WAITING).exists()
    case.state = State.RETURNED if waits else State.OPEN
    case.claimed_by, case.claim_expires_at = None, None
    case.save(update_fields=_CLAIM_FIELDS)
    case_events.record(case, CaseEvent.Kind.RELEASED, actor=actor, expired=actor is None)


def _take(case: ReviewCase, user: User) -> ReviewCase:
    renewed = _is_held(case)
    if case.state == State.CLAIMED and not renewed:  # its time ran out, and no sweep has come by yet
        case_events.record(case, CaseEvent.Kind.RELEASED, actor=None, expired=True)
        audit.record("cases.expired", actor=None, study=case.study, cases=[case.pk])
    case.state, case.claimed_by, case.claim_expires_at = State.CLAIMED, user, _claim_end(case)
    case.save(update_fields=_CLAIM_FIELDS)
    if not renewed:
        case_events.record(case, CaseEvent.Kind.CLAIMED, actor=user)
        audit.record("case.claimed", actor=user, study=case.study, subject=f"case {case.pk}")
    bar(user, case)  # each time: its version may have new tasks
    return case


def _is_held(case: ReviewCase) -> bool:
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


def _locked(study: Study, case_ids: Sequence[int]) -> list[ReviewCase]:
    wanted = ReviewCase.objects.select_for_update(of=("self",)).filter(study=study, pk__in=set(case_ids))
    found = list(wanted.order_by("pk"))
    known = {case.pk for case in found}
    problems = [
        FieldProblem(f"case_ids[{i}]", f"There is no case {case_id} in this study.")
        for i, case_id in enumerate(case_ids)
        if case_id not in known
    ]
    if problems:
        raise InvalidInput("Some cases are not there; nothing was changed.", problems=problems)
    return found


def _expert(study: Study, email: str) -> User:
    members = Membership.objects.select_related("user").filter(study=study, role=Role.EXPERT)
    found = members.filter(user__email=email.strip().lower()).first()
    if found is None:
        problem = FieldProblem(
            "expert", f"{email} is not an expert of this study.", "Invite them as one first."
        )
        raise InvalidInput("This case cannot be given to them.", problems=[problem])
    return found.user
