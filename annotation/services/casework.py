"""What every act at the desk begins with."""

from __future__ import annotations

from annotation import review_access
from annotation.errors import Conflict
from annotation.models import Item, ReviewCase, User
from annotation.services import blind, cases, item_locks


def workable(user: User, case_id: int) -> tuple[ReviewCase, Item]:
    """A case that this expert may act on now, and its item, both locked."""
    item_locks.lock_cases(review_access.reviewed_case(user, case_id).item_id)
    case = cases.held(user, case_id)
    if not blind.is_done(case, user):
        raise Conflict("Judge the task yourself first; then you can decide.", code="not_judged")
    item = item_locks.lock(case.item_id)
    if item.state == Item.State.WITHDRAWN:
        raise Conflict(
            "This item was withdrawn meanwhile; there is nothing to decide.", code="item_withdrawn"
        )
    if item.current_version_id != case.item_version_id:
        raise version_changed()
    return case, item


def version_changed() -> Conflict:
    return Conflict(
        "This item was corrected meanwhile: what you had before you is an earlier version of it.",
        code="version_changed",
    )
