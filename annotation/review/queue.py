"""The review queue: filters, pages in order of priority, counts, saved views."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from string import ascii_lowercase, ascii_uppercase
from typing import Any, TypeVar

from django.db import connection
from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Collate, Left, Upper
from django.utils import timezone

from annotation.access import study_with_review_queue
from annotation.errors import FieldProblem, InvalidInput
from annotation.models import Item, ItemVersion, Rater, Return, ReviewCase, SavedView, Study, User
from annotation.review.flag_rules import KINDS
from annotation.studies import saved_views

PAGE_SIZE = 50
# Counts are exact up to here; beyond, "1,000 or more" is all anybody needs to know.
COUNT_LIMIT = 1000
UNRESOLVED = "unresolved"
FILTER_STATES = (*ReviewCase.State.values, UNRESOLVED)
_STRATUM_PREFIX = "strata."
_MAX_TEXT = 200
Searchable = TypeVar("Searchable", Item, ItemVersion)
_ASCII_UPPER = str.maketrans(ascii_lowercase, ascii_uppercase)


@dataclass(frozen=True)
class QueueFilters:
    """What of the queue somebody wants to see. `state` is a `ReviewCase.State`, or "unresolved".

    `assigned`: "me", "nobody", or an expert's e-mail address. `strata`: values of the item's strata, all of which must
    match. `text`: part of the item's name, question or prompt.
    """

    state: str = ReviewCase.State.OPEN
    rule: str = ""
    assigned: str = ""
    strata: Mapping[str, str] = field(default_factory=dict)
    text: str = ""

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> QueueFilters:
        """From a query string's values (a stratum is `strata.category=music`) or a saved view. Other names are left to
        whoever else reads them. Raises InvalidInput that names the field."""
        named = {
            key[len(_STRATUM_PREFIX) :]: str(values[key]) for key in values if key.startswith(_STRATUM_PREFIX)
        }
        strata = values.get("strata") or {}
        stated = {key: str(values.get(key) or "").strip() for key in ("state", "rule", "assigned", "text")}
        problems = list(_filter_problems(stated, strata))
        if problems:
            raise InvalidInput("The queue cannot be filtered so.", problems=problems)
        wanted = {name: value for name, value in {**strata, **named}.items() if value != ""}
        return cls(**{**stated, "state": stated["state"] or ReviewCase.State.OPEN.value}, strata=wanted)

    def as_json(self) -> dict[str, Any]:
        """As a saved view keeps them."""
        return {
            "state": str(self.state), "rule": self.rule, "assigned": self.assigned, "text": self.text,
            "strata": dict(self.strata),
        }  # fmt: skip

    def as_query(self) -> dict[str, str]:
        """As an address holds them: only what was chosen."""
        flat = {key: value for key, value in self.as_json().items() if key != "strata" and value}
        return flat | {f"{_STRATUM_PREFIX}{name}": value for name, value in self.strata.items()}


def _filter_problems(stated: Mapping[str, str], strata: Any) -> Iterator[FieldProblem]:
    if stated["state"] not in ("", *FILTER_STATES):
        yield FieldProblem("state", f"There is no such state; there are {', '.join(FILTER_STATES)}.")
    if stated["rule"] not in ("", *KINDS):
        yield FieldProblem("rule", f"There is no such rule; there are {', '.join(KINDS)}.")
    if len(stated["text"]) > _MAX_TEXT:
        yield FieldProblem("text", f"Search for at most {_MAX_TEXT} characters.")
    if not isinstance(strata, Mapping):
        yield FieldProblem("strata", "Give an object of names and values.")


@dataclass(frozen=True)
class QueueRow:
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
class QueuePage:
    """`next_after` goes into the next call's `after`; None on the last page."""

    rows: tuple[QueueRow, ...]
    next_after: int | None


@dataclass(frozen=True)
class QueueCounts:
    """How many cases there are in each state, and unresolved ones assigned to the reader; each at most COUNT_LIMIT."""

    open: int
    claimed: int
    returned: int
    resolved: int
    mine: int


def queue_page(
    study: Study, filters: QueueFilters, *, reader: User, after: int | None = None, limit: int = PAGE_SIZE
) -> QueuePage:
    """One page by descending priority, then by id. `after`: the id of the last case on the page before.

    A case that moved since (its priority grew) may be missed or seen twice; no page is ever skipped for it.
    """
    cases = (
        _filtered_cases(study, filters, user=reader).order_by("-priority", "id").values_list("pk", flat=True)
    )
    ids = list(cases[: limit + 1]) if after is None else _ids_after(study, cases, after, limit=limit + 1)
    rows = _rows(ids[:limit], reader)
    return QueuePage(rows, ids[limit - 1] if len(ids) > limit else None)


def queue_row(case: ReviewCase, *, reader: User) -> QueueRow:
    """One case as the queue shows it."""
    return _rows([case.pk], reader)[0]


def queue_counts(study: Study, *, reader: User) -> QueueCounts:
    """Cheap however long the queue is."""
    states = ReviewCase.State.values
    with connection.cursor() as cursor:
        cursor.execute(
            _COUNTS_SQL, {"study": study.pk, "states": states, "most": COUNT_LIMIT, "reader": reader.pk}
        )
        counts: dict[str, int] = dict(cursor.fetchall())
    return QueueCounts(**{name: counts[name] for name in (*states, "mine")})


def claimable_cases(study: Study, filters: QueueFilters, *, user: User) -> Iterator[QuerySet[ReviewCase]]:
    """Cases that this expert may claim, best first: those they are at, those they were given, then the open ones that
    are nobody's."""
    yield _filtered_cases(study, filters, user=user, state=ReviewCase.State.CLAIMED).filter(_claimed_by(user))
    cases = _filtered_cases(study, filters, user=user, state=ReviewCase.State.OPEN).order_by(
        "-priority", "id"
    )
    yield cases.filter(assigned_to=user)
    yield cases.filter(assigned_to=None)


def claimed_rows(study: Study, *, user: User) -> tuple[QueueRow, ...]:
    """The cases that this expert has claimed and not left: those with the least time first."""
    cases = ReviewCase.objects.filter(_claimed_by(user), study=study, state=ReviewCase.State.CLAIMED)
    return _rows(list(cases.order_by("claim_expires_at").values_list("pk", flat=True)), user)


def _claimed_by(user: User) -> Q:
    return Q(claimed_by=user, claim_expires_at__gt=timezone.now())


_COUNTS_SQL = """
SELECT s, (SELECT count(*) FROM (
    SELECT 1 FROM annotation_reviewcase WHERE study_id = %(study)s AND state = s LIMIT %(most)s) few)
FROM unnest(%(states)s::varchar[]) s
UNION ALL
SELECT 'mine', (SELECT count(*) FROM (
    SELECT 1 FROM annotation_reviewcase
    WHERE study_id = %(study)s AND state <> 'resolved' AND assigned_to_id = %(reader)s LIMIT %(most)s) few)
"""

_ROW_COLUMNS = (
    "id", "item_id", "item__external_id", "item__strata", "state", "decision", "rules", "n_returns", "created_at",
    "assigned_to__name", "assigned_to__email", "claimed_by_id", "claimed_by__name", "claimed_by__email",
)  # fmt: skip
_COMPUTED_COLUMNS = {
    "question": Left("item_version__question", 200),
    "prompt": Left("item_version__prompt", 200),
}


def _filtered_cases(
    study: Study, filters: QueueFilters, *, user: User, state: str = ""
) -> QuerySet[ReviewCase]:
    cases = ReviewCase.objects.filter(study=study)
    state = state or filters.state
    cases = (
        cases.exclude(state=ReviewCase.State.RESOLVED) if state == UNRESOLVED else cases.filter(state=state)
    )
    if filters.rule:
        cases = cases.filter(rules__contains=[filters.rule])
    if filters.assigned == "me":
        cases = cases.filter(assigned_to=user)
    elif filters.assigned == "nobody":
        cases = cases.filter(assigned_to=None)
    elif filters.assigned:
        cases = cases.filter(assigned_to__email=filters.assigned.lower())
    if filters.strata:
        cases = cases.filter(item__strata__contains=dict(filters.strata))
    if filters.text:
        # Apart: whatever the planner makes of them, the texts are not joined to anything to be looked through.
        named = _containing_text(Item.objects.filter(study=study), filters.text, "external_id")
        worded = _containing_text(ItemVersion.objects.all(), filters.text, "question", "prompt")
        cases = cases.filter(Q(item__in=named) | Q(item_version__in=worded))
    return cases


def _containing_text(rows: QuerySet[Searchable], text: str, *columns: str) -> QuerySet[Searchable]:
    """Those that hold a text in one of these columns. Upper and lower case are one for the letters of ASCII alone:
    there are a hundred thousand texts to look through, and all of Unicode takes four times as long."""
    matches = Q()
    for column in columns:
        rows = rows.alias(**{f"{column}_upper": Upper(Collate(column, "C"))})
        matches |= Q(**{f"{column}_upper__contains": text.translate(_ASCII_UPPER)})
    return rows.filter(matches)


def _ids_after(study: Study, cases: QuerySet[ReviewCase, int], after: int, *, limit: int) -> list[int]:
    """Two ranges of the index: the rest of the same priority, then what is below it."""
    last = ReviewCase.objects.filter(study=study, pk=after).values_list("priority", flat=True).first()
    if last is None:
        problem = FieldProblem("after", "There is no such case; begin with the first page.")
        raise InvalidInput("This page of the queue is not there.", problems=[problem])
    alike = list(cases.filter(priority=last, pk__gt=after)[:limit])
    if len(alike) == limit:
        return alike
    return alike + list(cases.filter(priority__lt=last)[: limit - len(alike)])


def _rows(case_ids: list[int], reader: User) -> tuple[QueueRow, ...]:
    """What is shown is fetched for the page alone: a search would carry it along for all that it looks at."""
    values = ReviewCase.objects.filter(pk__in=case_ids).values(*_ROW_COLUMNS, **_COMPUTED_COLUMNS)
    rows = {row["id"]: _row(row, reader) for row in values}
    return tuple(rows[case_id] for case_id in case_ids)


def _row(values: Mapping[str, Any], reader: User) -> QueueRow:
    return QueueRow(
        id=values["id"],
        item_id=values["item_id"],
        external_id=values["item__external_id"],
        title=values["question"] or values["prompt"],
        strata=values["item__strata"],
        state=values["state"],
        decision=values["decision"],
        rules=tuple(values["rules"]),
        assigned_to=values["assigned_to__name"] or values["assigned_to__email"] or "",
        claimed_by=values["claimed_by__name"] or values["claimed_by__email"] or "",
        is_mine=values["claimed_by_id"] == reader.pk,
        n_returns=values["n_returns"],
        created_at=values["created_at"],
    )


# Saved views of the queue


def visible_views(user: User, slug: str) -> list[SavedView]:
    study = study_with_review_queue(user, slug).study
    return saved_views.visible_views(study, saved_views.REVIEW, user=user)


def save_view(user: User, slug: str, *, name: str, filters: QueueFilters, shared: bool = False) -> SavedView:
    study = study_with_review_queue(user, slug).study
    return saved_views.save_view(
        study, saved_views.REVIEW, user=user, name=name, filters=filters.as_json(), shared=shared
    )


def delete_view(user: User, slug: str, view_id: int) -> None:
    reviewed = study_with_review_queue(user, slug)
    saved_views.delete_view(reviewed.study, saved_views.REVIEW, view_id, user=user, manages=reviewed.manages)


# Counts for the list of studies

_OPEN_COUNTS_SQL = """
SELECT s, (SELECT count(*) FROM (
    SELECT 1 FROM annotation_reviewcase WHERE study_id = s AND state = 'open' LIMIT %s) few)
FROM unnest(%s::bigint[]) s
"""


def open_case_counts(studies: Collection[int]) -> dict[int, int]:
    """By study, how many cases are open; counted up to `COUNT_LIMIT`."""
    if not studies:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_OPEN_COUNTS_SQL, [COUNT_LIMIT, list(studies)])
        return dict(cursor.fetchall())


def returned_judgment_counts(raters: Iterable[Rater]) -> dict[int, int]:
    """By study, how many answers an expert has asked these raters to look at again."""
    mine = [rater.pk for rater in raters]
    if not mine:
        return {}
    waiting = Return.objects.filter(rater__in=mine, state=Return.State.WAITING)
    return dict(waiting.values_list("rater__study_id").annotate(Count("pk")))
