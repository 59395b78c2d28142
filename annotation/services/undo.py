"""Taking a decision back while the study's window lasts. Nothing is erased: what was made stays, retracted."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from annotation import audit, review_access
from annotation.errors import Conflict, NotAllowed
from annotation.models import CaseEvent, Correction, Item, ReviewCase, User
from annotation.rules.review import ReviewSettings
from annotation.services import case_closing, case_events, drafts, item_locks, retractions, withdrawals

Decision = ReviewCase.Decision
State = ReviewCase.State
REVERSIBLE = (Decision.CORRECTED, Decision.FINE, Decision.WITHDRAWN)


def until(case: ReviewCase) -> datetime | None:
    """Until when the decision of this case can be taken back; None where it cannot be (any more)."""
    ends = _window(case)
    if ends is None or ends <= timezone.now() or _decided_since(case) or not _stands(case, case.item):
        return None
    return ends


@transaction.atomic
def undo(user: User, case_id: int) -> ReviewCase:
    """Take the last decision about an item back; the case is then claimed by who took it back.

    Only who decided may, while the window lasts and nothing was decided about the item since: else Conflict
    `undo_over`. The Correction rows of a correction stay, on a version that is `retracted`.
    """
    case = review_access.reviewed_case(user, case_id, lock=True)
    item_locks.lock_cases(case.item_id)
    item = item_locks.lock(case.item_id)
    _check(case, item, user)
    decision = case.decision
    if decision == Decision.CORRECTED:
        case_closing.close_for_item(item, decision=Decision.SUPERSEDED, actor=user, but=case)
        retractions.retract(item, actor=user)
    elif decision == Decision.WITHDRAWN:
        withdrawals.bring_back(item, actor=user)
    drafts.unsettle(case)
    return _reopen(case, user, decision)


def _check(case: ReviewCase, item: Item, user: User) -> None:
    ends = _window(case)
    if ends is None:
        raise Conflict("Nothing was decided about this case that could be taken back.", code="undo_over")
    if case.decided_by_id != user.pk:
        raise NotAllowed("Only who decided a case can take the decision back.")
    if ends <= timezone.now():
        raise Conflict("The time to take this decision back is over; it stands.", code="undo_over")
    if _decided_since(case) or not _stands(case, item):
        raise Conflict("Something else has become of this item since; the decision stands.", code="undo_over")


def _window(case: ReviewCase) -> datetime | None:
    if case.state != State.RESOLVED or case.decision not in REVERSIBLE or case.resolved_at is None:
        return None
    return case.resolved_at + timedelta(minutes=ReviewSettings.of(case.study.rules).undo_minutes)


def _decided_since(case: ReviewCase) -> bool:
    """Whether another case of the item came after: one that is decided, or, of the same version, one that waits."""
    others = ReviewCase.objects.filter(item_id=case.item_id).exclude(pk=case.pk)
    decided = others.filter(resolved_at__gt=case.resolved_at).exclude(decision=Decision.SUPERSEDED)
    again = others.filter(item_version_id=case.item_version_id).exclude(state=State.RESOLVED)
    return decided.exists() or again.exists()


def _stands(case: ReviewCase, item: Item) -> bool:
    """Whether the item is as this decision left it."""
    if (item.state == Item.State.WITHDRAWN) != (case.decision == Decision.WITHDRAWN):
        return False
    if case.decision != Decision.CORRECTED:
        return item.current_version_id == case.item_version_id
    return Correction.objects.filter(case=case, version_after=item.current_version_id).exists()


def _reopen(case: ReviewCase, user: User, decision: str) -> ReviewCase:
    minutes = ReviewSettings.of(case.study.rules).claim_minutes
    case.state, case.decision = State.CLAIMED, Decision.UNDECIDED
    case.claimed_by, case.claim_expires_at = user, timezone.now() + timedelta(minutes=minutes)
    case.decided_by, case.resolved_at, case.comment = None, None, ""
    case.save(
        update_fields=[
            "state", "decision", "claimed_by", "claim_expires_at", "decided_by", "resolved_at", "comment"
        ]
    )  # fmt: skip
    case_events.record(case, CaseEvent.Kind.UNDONE, actor=user, decision=decision)
    audit.record(
        "case.undone", actor=user, study=case.study, subject=f"case {case.pk}",
        item=case.item.external_id, decision=decision,
    )  # fmt: skip
    return case
