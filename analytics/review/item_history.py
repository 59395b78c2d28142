"""Item history: the events of one item in order, from its import to being judged again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from datetime import datetime
from operator import attrgetter
from typing import Any

from annotation.models import (
    Answer,
    Candidate,
    CaseEvent,
    CaseReason,
    Correction,
    Draft,
    Exclusion,
    Item,
    ItemVersion,
    Judgment,
    Rater,
    Return,
    ReviewCase,
    Task,
    TaskCandidate,
    User,
)
from annotation.raters.withdrawal import without_withdrawn

# What raters and experts said of versions of one item, and which of it was set aside: rows for an item's
# timeline.


# A timeline shows this many of an item's votes; the rest is in the export.
MOST_VOTES = 400


@dataclass(frozen=True)
class GivenAnswer:
    """`answer` is a choice by name (`first`, `second`, `tie`, `both_bad`), a number, a text, or what is stored of
    several options or moments; `system` is the one that
    a rating is about or that a preference is for."""

    question: str
    answer: Any
    confidence: float | None
    system: str


@dataclass(frozen=True)
class ItemVote:
    at: datetime
    version: int
    task: str
    who: str
    answers: tuple[GivenAnswer, ...]
    codes: tuple[str, ...]
    comment: str
    revision: int
    stands: bool
    excluded: bool
    surplus: bool
    is_blind: bool


def item_votes(versions: Sequence[ItemVersion]) -> tuple[list[ItemVote], int]:
    """The first `MOST_VOTES` judgments about versions of an item in the order in which they came, and how many more
    there are. Four queries."""
    numbers = {version.pk: version.number for version in versions}
    about = without_withdrawn(Judgment.objects.filter(task__item_version__in=numbers))
    judgments = list(about.select_related("rater__user", "task").order_by("submitted_at", "pk")[:MOST_VOTES])
    left_out = max(0, about.count() - MOST_VOTES)
    answers = _vote_answers([judgment.pk for judgment in judgments], _slots(judgments))
    votes = [_vote(one, numbers[one.task.item_version_id], answers.get(one.pk, [])) for one in judgments]
    return votes, left_out


def _exclusions(versions: Sequence[ItemVersion]) -> Iterable[HistoryEntry]:
    """Judgments set aside or restored."""
    numbers = {version.pk: version.number for version in versions}
    marks = without_withdrawn(
        Exclusion.objects.filter(judgment__task__item_version__in=numbers), by="judgment__rater"
    )
    for mark in marks.select_related("judgment__task", "actor").order_by("created_at", "pk"):
        action = "excluded" if mark.action == Exclusion.Action.EXCLUDE else "restored"
        version, about = numbers[mark.judgment.task.item_version_id], {"reason": mark.reason}
        yield HistoryEntry(mark.created_at, action, version, _name(mark.actor), about=about, n=1)


def _vote(judgment: Judgment, version: int, answers: Sequence[GivenAnswer]) -> ItemVote:
    is_blind = judgment.origin == Judgment.Origin.EXPERT
    rater = judgment.rater
    # Experts sign what they do to an item by their names, raters by their pseudonyms.
    who = "" if rater is None else str(rater.user or rater.pseudonym) if is_blind else rater.pseudonym
    return ItemVote(
        at=judgment.submitted_at,
        version=version,
        task=judgment.task.external_id,
        who=who,
        answers=tuple(answers),
        codes=tuple(judgment.codes),
        comment=judgment.comment,
        revision=judgment.revision,
        stands=judgment.effective,
        excluded=judgment.excluded,
        surplus=judgment.surplus,
        is_blind=is_blind,
    )


def _slots(judgments: Iterable[Judgment]) -> dict[tuple[int, int], str]:
    """The system in each slot of the tasks that were judged."""
    slots = TaskCandidate.objects.filter(task__in={judgment.task_id for judgment in judgments})
    rows = slots.values_list("task_id", "slot", "candidate__system__name")
    return {(task, slot): name for task, slot, name in rows}


def _vote_answers(
    judgments: Sequence[int], slots: Mapping[tuple[int, int], str]
) -> dict[int, list[GivenAnswer]]:
    by_judgment: dict[int, list[GivenAnswer]] = {}
    answers = Answer.objects.filter(judgment__in=judgments).select_related("question", "candidate__system")
    for answer in answers.order_by("pk"):
        by_judgment.setdefault(answer.judgment_id, []).append(_given_answer(answer, slots))
    return by_judgment


def _given_answer(answer: Answer, slots: Mapping[tuple[int, int], str]) -> GivenAnswer:
    key, confidence = answer.question.key, answer.confidence
    if answer.choice is not None:
        system = slots.get((answer.task_id, answer.choice - 1), "") if answer.choice <= 2 else ""
        return GivenAnswer(key, Answer.Choice(answer.choice).name.lower(), confidence, system)
    # What is asked once about several clips is about none of them in particular.
    only = "" if (answer.task_id, 1) in slots else slots.get((answer.task_id, 0), "")
    system = answer.candidate.system.name if answer.candidate else only
    value = answer.value if answer.value is not None else answer.selected or answer.events or answer.text
    return GivenAnswer(key, value, confidence, system)


# Told by the rows that they leave behind (reasons, judgments, drafts, returns), not a second time.
_SHOWN_ELSEWHERE = ("opened", "fired", "judged", "drafted", "returned", "came_back")
# Next to each other, these become one entry.
_MERGED = ("judged", "flagged", "drafts", "returned", "answered", "excluded", "restored", "tasks")


@dataclass(frozen=True)
class HistoryEntry:
    """One thing that happened. `kind`: imported, judged, flagged, blind, drafts, returned, answered, corrected,
    revised (a new version that no expert made), tasks, excluded, restored, or the kind of a case's event.

    `about` are plain facts, `rows` what there are several of: the votes, the rules, the fields. `until` is when the
    last of them was. `n` counts rows that have nothing to show of their own.
    """

    at: datetime
    kind: str
    version: int
    who: str = ""
    case: int | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    rows: tuple[Any, ...] = ()
    n: int = 0
    until: datetime | None = None


@dataclass(frozen=True)
class ItemHistory:
    """`hides_votes`: something was left out that this reader may not know yet. `n_votes_left_out`: there are more
    votes than one page shows."""

    item: Item
    versions: list[ItemVersion]
    entries: list[HistoryEntry]
    hides_votes: bool
    n_votes_left_out: int


def item_history(item: Item, *, votes_up_to: int | None) -> ItemHistory:
    """`votes_up_to`: the last version of which votes, evidence, drafts and comments may be told; None for every one.

    Some dozen queries, however much there is.
    """
    versions = list(item.versions.select_related("created_by").order_by("number"))
    cases = {case.pk: case for case in ReviewCase.objects.filter(item=item)}
    numbers = {version.pk: version.number for version in versions}
    known = versions if votes_up_to is None else [one for one in versions if one.number <= votes_up_to]
    seen = {version.pk for version in known}
    judged, left_out = item_votes(known)
    entries = [
        *_versions(versions, seen),
        *(
            HistoryEntry(row.at, "blind" if row.is_blind else "judged", row.version, rows=(row,))
            for row in judged
        ),
        *_flags(cases, numbers, seen),
        *_events(cases, numbers, seen),
        *_drafts(cases, numbers, seen),
        *_returns(cases, numbers, seen),
        *_exclusions(known),
        *_tasks(numbers),
    ]
    entries.sort(key=lambda entry: entry.at)
    return ItemHistory(item, versions, list(_merged(entries)), len(known) < len(versions), left_out)


def history_json(history: ItemHistory) -> dict[str, Any]:
    """For programs: every row as an object of its own fields."""
    entries = [
        {**vars(entry), "about": dict(entry.about), "rows": [_row_as_json(row, entry) for row in entry.rows]}
        for entry in history.entries
    ]
    return {
        "external_id": history.item.external_id,
        "hides_votes": history.hides_votes,
        "n_votes_left_out": history.n_votes_left_out,
        "entries": entries,
    }


# Of rows that are the database's, what an item's reader may know.
_ENTRY_FIELDS = {
    Correction: ("field", "before", "after", "reason", "comment", "origin"),
    CaseReason: ("rule", "evidence", "fired_at"),
    Draft: ("field", "writer", "state", "text", "problem", "written_at", "settled_at"),
}


def _row_as_json(row: Any, entry: HistoryEntry) -> Any:
    if names := _ENTRY_FIELDS.get(type(row)):
        # Why a text was changed tells of the votes on the version before.
        fields = names[:3] if isinstance(row, Correction) and not entry.about["in_full"] else names
        return {name: getattr(row, name) for name in fields}
    return asdict(row) if is_dataclass(row) and not isinstance(row, type) else row


def _name(user: User | None) -> str:
    return "" if user is None else str(user)


def _versions(versions: Iterable[ItemVersion], seen: set[int]) -> Iterable[HistoryEntry]:
    """Each version with what made it: its import, or the corrections of an expert."""
    corrections: dict[int, list[Correction]] = {}
    made_by = Correction.objects.filter(version_after__in=[one.pk for one in versions])
    for one in made_by.select_related("author").order_by("pk"):
        corrections.setdefault(one.version_after_id, []).append(one)
    answers = _answer_entries(versions)
    for version in versions:
        rows = tuple(corrections.get(version.pk, ()))
        kind = "corrected" if rows else "revised" if version.number > 1 else "imported"
        about = {"retracted": version.retracted, "answers": answers.get(version.pk, {})}
        # Whoever has corrected a version knew the votes on the one before.
        about["in_full"] = bool(rows) and rows[0].version_before_id in seen
        who = _name(rows[0].author if rows else version.created_by)
        case = rows[0].case_id if rows else None
        yield HistoryEntry(version.created_at, kind, version.number, who, case, about, rows)


def _answer_entries(versions: Iterable[ItemVersion]) -> dict[int, dict[str, int]]:
    """By version: how many candidates were carried over, and how many are its own."""
    by_version: dict[int, dict[str, int]] = {}
    candidates = Candidate.objects.filter(item_version__in=[one.pk for one in versions])
    for version, carried_from in candidates.values_list("item_version_id", "carried_from_id"):
        counts = by_version.setdefault(version, {"carried": 0, "own": 0})
        counts["own" if carried_from is None else "carried"] += 1
    return by_version


def _flags(
    cases: Mapping[int, ReviewCase], numbers: Mapping[int, int], seen: set[int]
) -> Iterable[HistoryEntry]:
    for reason in CaseReason.objects.filter(case__in=cases).order_by("fired_at", "pk"):
        case = cases[reason.case_id]
        if case.item_version_id not in seen:
            reason.evidence = {}
        yield HistoryEntry(
            reason.fired_at, "flagged", numbers[case.item_version_id], case=case.pk, rows=(reason,)
        )


def _events(
    cases: Mapping[int, ReviewCase], numbers: Mapping[int, int], seen: set[int]
) -> Iterable[HistoryEntry]:
    events = CaseEvent.objects.filter(case__in=cases).exclude(kind__in=_SHOWN_ELSEWHERE)
    for event in events.select_related("actor").order_by("at", "pk"):
        case = cases[event.case_id]
        if event.kind == CaseEvent.Kind.DECIDED and event.data.get("decision") == "corrected":
            continue  # its new version tells of it
        known = case.item_version_id in seen
        about = {name: value for name, value in event.data.items() if known or name in ("decision", "to")}
        yield HistoryEntry(
            event.at, event.kind, numbers[case.item_version_id], _name(event.actor), case.pk, about
        )


def _drafts(
    cases: Mapping[int, ReviewCase], numbers: Mapping[int, int], seen: set[int]
) -> Iterable[HistoryEntry]:
    drafts = Draft.objects.filter(case__in=cases, item_version__in=seen).select_related("requested_by")
    for draft in drafts.order_by("created_at", "pk"):
        version, who = numbers[draft.item_version_id], _name(draft.requested_by)
        yield HistoryEntry(draft.created_at, "drafts", version, who, draft.case_id, rows=(draft,))


def _returns(
    cases: Mapping[int, ReviewCase], numbers: Mapping[int, int], seen: set[int]
) -> Iterable[HistoryEntry]:
    """What an expert asked, and what came of it."""
    returns = Return.objects.filter(case__in=cases, case__item_version__in=seen)
    for one in returns.select_related("created_by", "rater").order_by("pk"):
        version = numbers[cases[one.case_id].item_version_id]
        gone = one.rater is not None and one.rater.state == Rater.State.WITHDRAWN
        rater = one.rater.pseudonym if one.rater and not gone else ""
        about = {"rater": rater, "n_wanted": one.n_wanted, "comment": one.comment, "state": one.state}
        yield HistoryEntry(
            one.created_at, "returned", version, _name(one.created_by), one.case_id, about, n=1
        )
        if one.closed_at:
            about = {"rater": rater, "state": one.state, "reply": "" if gone else one.reply}
            yield HistoryEntry(one.closed_at, "answered", version, rater, one.case_id, about, n=1)


def _tasks(numbers: Mapping[int, int]) -> Iterable[HistoryEntry]:
    """Tasks that took the place of those about an earlier version."""
    tasks = Task.objects.filter(item_version__in=numbers, replaces__isnull=False).order_by("pk")
    for version, at, overlap in tasks.values_list("item_version_id", "created_at", "overlap"):
        yield HistoryEntry(at, "tasks", numbers[version], n=1, rows=(overlap,))


def _merged(entries: Iterable[HistoryEntry]) -> Iterable[HistoryEntry]:
    last: HistoryEntry | None = None
    for entry in entries:
        if last and entry.kind in _MERGED and _is_alike(last, entry):
            last = replace(last, rows=last.rows + entry.rows, n=last.n + entry.n, until=entry.at)
            continue
        if last:
            yield last
        last = entry
    if last:
        yield last


def _is_alike(one: HistoryEntry, other: HistoryEntry) -> bool:
    alike = attrgetter("kind", "version", "who", "case", "about")
    return bool(alike(one) == alike(other))
