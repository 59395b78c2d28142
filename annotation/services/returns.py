"""Asking again: the rater of one judgment to look once more, or everybody for more judgments.

A case that waits for an answer is nobody's; it comes back to the queue when none is awaited any more.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from annotation.models import Return, ReviewCase, User


@dataclass(frozen=True)
class Waiting:
    """What a rater is asked to look at again: their own assignment, and the words of the expert who asks."""

    id: int
    assignment_id: uuid.UUID
    comment: str
    created_at: datetime


def to_rater(
    user: User, case_id: int, judgment_client_ids: Sequence[uuid.UUID], comment: str
) -> list[Return]:
    """Ask the raters of these judgments to look again. Until they did, they may change their vote at any time.

    Raises InvalidInput that says of each judgment why its rater cannot be asked: no account, no member any more, …
    """
    raise NotImplementedError


def to_pool(user: User, case_id: int, comment: str, votes: int | None = None) -> list[Return]:
    """Ask for so many more judgments (by default the study's `pool_votes`) of each task of the case's version."""
    raise NotImplementedError


def waiting_of(user: User, slug: str) -> list[Waiting]:
    """What waits for this account's rater in a study, the oldest first."""
    raise NotImplementedError


def keep(user: User, return_id: int, reply: str = "") -> None:
    """The rater looked again and stays with their vote. Raises NotFound where it is not theirs, Conflict `closed`."""
    raise NotImplementedError


def settle(case: ReviewCase | None = None) -> int:
    """Close what is not awaited any more, of one case or of all: returns to the pool whose tasks have the judgments
    asked for, and those that nobody can answer. Returns how many. For beat, and for whoever opens a case."""
    raise NotImplementedError
