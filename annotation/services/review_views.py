"""Saved filters of the review queue."""

from __future__ import annotations

from annotation.models import ReviewView, User
from annotation.services.case_queue import Filters


def of(user: User, slug: str) -> list[ReviewView]:
    """This user's own views of a study's queue and those that others share, by name."""
    raise NotImplementedError


def save(user: User, slug: str, *, name: str, filters: Filters, shared: bool = False) -> ReviewView:
    """Save filters under a name; one's own view of that name is replaced."""
    raise NotImplementedError


def delete(user: User, slug: str, view_id: int) -> None:
    """Forget one of one's own views; those who run the study may forget shared ones."""
    raise NotImplementedError
