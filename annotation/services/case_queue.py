"""The review queue as pages and programs read it: filtered, in order of priority, page by page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from annotation.models import ReviewCase, Study, User

PAGE = 50
# Counts are exact up to here; beyond, "1,000 or more" is all anybody needs to know.
COUNTED_TO = 1000


@dataclass(frozen=True)
class Filters:
    """What of the queue somebody wants to see. `state` is a `ReviewCase.State`, or "" for all that is unresolved.

    `assigned`: "me", "nobody", or an expert's e-mail address. `strata`: values of the item's strata, all of which must
    match. `text`: part of the item's name, question or prompt.
    """

    state: str = ReviewCase.State.OPEN
    rule: str = ""
    assigned: str = ""
    strata: Mapping[str, str] = field(default_factory=dict)
    text: str = ""

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Filters:
        """From a query string's values or a saved view. Raises InvalidInput that names the field."""
        raise NotImplementedError

    def as_json(self) -> dict[str, Any]:
        raise NotImplementedError


@dataclass(frozen=True)
class Row:
    """A case as the queue shows it. Nothing in it says more of the votes than the names of the rules that fired."""

    id: int
    item_id: int
    external_id: str
    title: str
    strata: Mapping[str, Any]
    state: str
    decision: str
    rules: tuple[str, ...]
    assigned_to: str
    claimed_by: str
    is_mine: bool
    n_returns: int
    created_at: datetime


@dataclass(frozen=True)
class Page:
    """`next_after` goes into the next call's `after`; None on the last page."""

    rows: tuple[Row, ...]
    next_after: int | None


@dataclass(frozen=True)
class Counts:
    """How many cases there are in each state, and of the open ones assigned to the reader; each at most COUNTED_TO."""

    open: int
    claimed: int
    returned: int
    resolved: int
    mine: int


def page(
    study: Study, filters: Filters, *, reader: User, after: int | None = None, limit: int = PAGE
) -> Page:
    """One page by descending priority, then by id. `after`: the id of the last case on the page before.

    A case that moved since (its priority grew) may be missed or seen twice; no page is ever skipped for it.
    """
    raise NotImplementedError


def counts(study: Study, *, reader: User) -> Counts:
    """Cheap however long the queue is."""
    raise NotImplementedError
