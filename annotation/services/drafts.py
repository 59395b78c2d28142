"""Models' proposals for an item's texts, from being asked for to what the expert made of them.

A draft waits until its writer has written (`propose`) or could not (`fail`). Only a person publishes it: `correct`
settles the drafts of a case as accepted, edited or unused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotation.models import Draft, ReviewCase, User


def waiting(case: ReviewCase, *, field: str, writer: str, actor: User | None) -> Draft:
    """Ask for a draft of one field of the case's version: the one that waits already, or a new one."""
    raise NotImplementedError


def propose(draft_id: int, *, text: str, provenance: Mapping[str, Any]) -> bool:
    """Store what was written. False, and nothing stored, where the draft waits no more (its case is settled, say)."""
    raise NotImplementedError


def fail(draft_id: int, *, problem: str, provenance: Mapping[str, Any] | None = None) -> bool:
    """Store why nothing was written, in words for the expert. False where the draft waits no more."""
    raise NotImplementedError


def reject(user: User, draft_id: int) -> Draft:
    """The expert who holds the case does not want this draft."""
    raise NotImplementedError
