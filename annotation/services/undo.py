"""Taking a decision back while the study's window lasts. Nothing is erased: what was made stays, retracted."""

from __future__ import annotations

from datetime import datetime

from annotation.models import ReviewCase, User


def until(case: ReviewCase) -> datetime | None:
    """Until when the decision of this case can be taken back; None where it cannot be (any more)."""
    raise NotImplementedError


def undo(user: User, case_id: int) -> ReviewCase:
    """Take the last decision about an item back; the case is then claimed by who took it back.

    Only who decided may, while the window lasts and nothing was decided about the item since: else Conflict
    `undo_over`. The Correction rows of a correction stay, on a version that is `retracted`.
    """
    raise NotImplementedError
