"""Review cases: opened by rules, claimed by experts, given to one of them, closed with their item.

Lock order as everywhere: case, assignment, task, rater, study; several cases by their ids.
"""

from __future__ import annotations

from collections.abc import Sequence

from annotation.models import Item, ReviewCase, User
from annotation.services.case_queue import Filters


def claim(user: User, case_id: int) -> ReviewCase:
    """Take a case to work on, for the study's `claim_minutes`. Claiming one's own again renews it.

    From here on the expert's rater meets none of the version's tasks (BarredRater), and an open lease of theirs on one
    goes back. A case that waits for raters (returned) can be claimed, too: nobody is bound to wait. Raises Conflict:
    `claimed_by_other`, `assigned_to_other`, `resolved`.
    """
    raise NotImplementedError


def claim_next(user: User, slug: str, filters: Filters) -> ReviewCase | None:
    """Claim the open case of the highest priority that the filters let through, the expert's own (assigned) first.

    Cases that others are taking at this moment are passed over. None when nothing is left.
    """
    raise NotImplementedError


def keep(user: User, case_id: int) -> ReviewCase:
    """Renew a live claim: the heartbeat of an open desk. Raises as `held`."""
    raise NotImplementedError


def put_back(user: User, case_id: int) -> ReviewCase:
    """Give up a claim; the case is open (or, while raters are still asked, returned) again. Twice is once."""
    raise NotImplementedError


def held(user: User, case_id: int) -> ReviewCase:
    """The case, locked until the transaction ends, if this user's claim of it is alive: every write at the desk begins
    so. With its study, item, version and task. Raises Conflict: `resolved`, `claimed_by_other`, `claim_lost`."""
    raise NotImplementedError


def assign(user: User, slug: str, case_ids: Sequence[int], *, expert: str | None) -> int:
    """Give unresolved cases to one of the study's experts (by e-mail address), or to nobody (None); those who run the
    study do. Whoever else is at one of them loses the claim. Returns how many changed."""
    raise NotImplementedError


def expire_claims(*, limit: int = 1000) -> int:
    """Put back cases whose claims ran out. Returns how many. Safe to run at any time."""
    raise NotImplementedError


def close_for_item(item: Item, *, decision: str, actor: User | None, but: ReviewCase | None = None) -> int:
    """Resolve every unresolved case of an item (of any of its versions) because something was decided elsewhere: the
    item was withdrawn (`withdrawn`) or has another version now (`superseded`). `but` is left alone: the case in which
    it was decided. In the caller's transaction, which holds no lock later than a case's. Returns how many it closed.
    """
    raise NotImplementedError
