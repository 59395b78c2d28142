"""Cases that close with their item: what they were about was decided elsewhere."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from annotation import audit
from annotation.models import CaseEvent, Item, ReviewCase, User
from annotation.services import case_events, drafts, item_locks, returns


@transaction.atomic
def close_for_item(item: Item, *, decision: str, actor: User | None, but: ReviewCase | None = None) -> int:
    """Resolve every unresolved case of an item (of any of its versions) because something was decided elsewhere: the
    item was withdrawn (`withdrawn`) or has another version now (`superseded`). Nobody is asked for anything on their
    account any more, and their drafts fall away. `but` is left alone: the case in which it was decided.

    For whoever is about to change the item as a whole, and before that: tasks get back the overlap that they had
    without returns, which their successors take from them. All leases on the item's tasks end. The caller holds the
    locks of the item's cases and of the item. Returns how many it closed.
    """
    cases = ReviewCase.objects.select_for_update(of=("self",)).select_related("study").filter(item=item)
    unresolved = cases.exclude(state=ReviewCase.State.RESOLVED).order_by("pk")
    closed = [case for case in unresolved if but is None or case.pk != but.pk]
    item_locks.stop_all(item.pk)
    for case in closed:
        case.state, case.decision = ReviewCase.State.RESOLVED, ReviewCase.Decision(decision)
        case.claimed_by, case.claim_expires_at = None, None
        case.decided_by, case.resolved_at = actor, timezone.now()
        case.save(
            update_fields=[
                "state", "claimed_by", "claim_expires_at", "decision", "decided_by", "resolved_at"
            ]
        )  # fmt: skip
        returns.cancel(case)
        drafts.settle(case, used={}, actor=actor)
    ids = [case.pk for case in closed]
    case_events.record_all(ids, CaseEvent.Kind.DECIDED, actor=actor, decision=decision, elsewhere=True)
    if closed:
        audit.record("cases.closed", actor=actor, study=item.study, cases=ids, decision=str(decision))
    return len(closed)
