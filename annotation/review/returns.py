"""Asking again: the rater of one judgment to look once more, or everybody for more judgments.

A case that waits for an answer is nobody's; it comes back to the queue when none is awaited any more. Locks: the case
first, then a return of it, then what it is about.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Sum
from django.utils import timezone

from annotation import access
from annotation.errors import Conflict, FieldProblem, InvalidInput, NotFound
from annotation.items import locks
from annotation.models import (
    BarredRater,
    CaseEvent,
    Item,
    Judgment,
    Membership,
    Rater,
    Return,
    ReviewCase,
    Study,
    Task,
    User,
)
from annotation.models.people import RATING_ROLES
from annotation.rating import overlap
from annotation.review import blind_judgments, drafts
from annotation.review import cases as review_cases
from annotation.review.rules import SETTING_BOUNDS, ReviewSettings
from annotation.studies import audit

# What every act at the desk begins with.


def decidable_case(user: User, case_id: int) -> tuple[ReviewCase, Item]:
    """A case that this expert may act on now, and its item, both locked."""
    locks.lock_cases(access.case_under_review(user, case_id).item_id)
    case = review_cases.claimed_case(user, case_id)
    if not blind_judgments.has_judged_blind(case, user):
        raise Conflict("Judge the task yourself first; then you can decide.", code="not_judged")
    item = locks.lock_item(case.item_id)
    if item.state == Item.State.WITHDRAWN:
        raise Conflict(
            "This item was withdrawn meanwhile; there is nothing to decide.", code="item_withdrawn"
        )
    if item.current_version_id != case.item_version_id:
        raise version_conflict()
    return case, item


def version_conflict() -> Conflict:
    return Conflict(
        "This item was corrected meanwhile: what you had before you is an earlier version of it.",
        code="version_changed",
    )


State = Return.State


@dataclass(frozen=True)
class WaitingReturn:
    """What a rater is asked to look at again: their own assignment, and the words of the expert who asks."""

    id: int
    assignment_id: uuid.UUID
    comment: str
    created_at: datetime


@transaction.atomic
def return_to_rater(
    user: User, case_id: int, judgment_client_ids: Sequence[uuid.UUID], comment: str
) -> list[Return]:
    """Ask the raters of these judgments to look again. Until they did, they may change their vote at any time.

    Raises InvalidInput that says of each judgment why its rater cannot be asked: no account, no member any more, …
    """
    case, _ = decidable_case(user, case_id)
    _check_comment(comment)
    named = list(dict.fromkeys(judgment_client_ids))
    asked = _returnable_judgments(case, named)
    made = Return.objects.bulk_create(
        Return(
            case=case,
            task_id=judgment.task_id,
            assignment_id=judgment.assignment_id,
            rater_id=judgment.rater_id,
            comment=comment.strip(),
            created_by=user,
        )
        for judgment in asked
    )
    _mark_returned(case, user, to="rater", comment=comment.strip(), judgments=[str(name) for name in named])
    return made


@transaction.atomic
def return_to_pool(user: User, case_id: int, comment: str, votes: int | None = None) -> list[Return]:
    """Ask for so many more judgments (by default the study's `pool_votes`) of each task of the case's version."""
    case, item = decidable_case(user, case_id)
    _check_comment(comment)
    wanted = ReviewSettings.of(case.study.rules).pool_votes if votes is None else votes
    least, most = SETTING_BOUNDS["pool_votes"]
    if not least <= wanted <= most:
        problem = FieldProblem("votes", f"Give a whole number from {least} to {most}.")
        raise InvalidInput("So many judgments cannot be asked for.", problems=[problem])
    ready = Task.objects.filter(item_version_id=item.current_version_id, state=Task.State.READY)
    tasks = list(ready.order_by("pk").values_list("pk", flat=True))
    if not tasks:
        raise InvalidInput("This item has no task that anybody could judge; nothing was returned.")
    made = Return.objects.bulk_create(
        Return(case=case, task_id=pk, n_wanted=wanted, comment=comment.strip(), created_by=user)
        for pk in tasks
    )
    _mark_returned(case, user, to="pool", comment=comment.strip(), votes=wanted, tasks=len(tasks))
    overlap.change_overlap(case.study, dict.fromkeys(tasks, wanted))
    return made


def waiting_returns(user: User, slug: str) -> list[WaitingReturn]:
    """What waits for this account's rater in a study, the oldest first."""
    rater = access.rater_of(user, slug)
    rows = Return.objects.filter(rater=rater, state=State.WAITING).order_by("pk")
    return [WaitingReturn(*row) for row in rows.values_list("pk", "assignment_id", "comment", "created_at")]


@transaction.atomic
def keep_judgment(user: User, return_id: int, reply: str = "") -> None:
    """The rater looked again and stays with their vote. Raises NotFound where it is not theirs, Conflict `closed`."""
    memberships = Membership.objects.filter(user=user, role__in=RATING_ROLES).values("study_id")
    own = Return.objects.filter(pk=return_id, rater__user=user, rater__study_id__in=memberships)
    asked = own.values_list("case_id", "assignment_id").first()
    if asked is None:
        raise NotFound
    case = ReviewCase.objects.select_for_update().get(pk=asked[0])
    access.check_token_study(user, case.study_id)
    if not _close_returns(own.filter(state=State.WAITING), State.KEPT, reply=reply.strip()):
        raise Conflict(
            "This is not awaited any more: it was answered, or the case was settled.", code="closed"
        )
    audit.record(
        "judgment.kept", actor=user, study=case.study, subject=f"assignment {asked[1]}", case=case.pk
    )
    _reopen_returned(case, actor=user)


def is_awaited(assignment_id: uuid.UUID) -> bool:
    """Whether an expert waits for the rater of this assignment to look again."""
    return Return.objects.filter(assignment_id=assignment_id, state=State.WAITING).exists()


def case_awaiting(user: User, assignment_id: uuid.UUID) -> ReviewCase | None:
    """The case that waits for this rater to look at their assignment again, locked; before the assignment itself is."""
    waits = Return.objects.filter(assignment_id=assignment_id, rater__user=user, state=State.WAITING)
    case_id = waits.values_list("case_id", flat=True).first()
    if case_id is None:
        return None
    case = ReviewCase.objects.select_for_update().get(pk=case_id)
    return case if waits.exists() else None


def close_answered(case: ReviewCase, assignment_id: uuid.UUID, *, actor: User) -> None:
    """The rater changed their vote. Holds the case's lock."""
    waits = Return.objects.filter(case=case, assignment_id=assignment_id, state=State.WAITING)
    _close_returns(waits, State.CHANGED)
    _reopen_returned(case, actor=actor)


def cancel_returns(case: ReviewCase) -> None:
    """The case is settled: nothing is awaited any more, and no task takes more judgments on its account.

    Holds the case's lock; locks tasks, raters and the study. Comes before what replaces the tasks: their successors
    want as many judgments."""
    waits = Return.objects.filter(case=case, state=State.WAITING)
    asked = waits.filter(assignment__isnull=True).values_list("task_id").annotate(Sum("n_wanted"))
    fewer = {task_id: -n_wanted for task_id, n_wanted in asked.order_by("task_id")}
    _record_closed(case, cancelled=_close_returns(waits, State.CANCELLED))
    overlap.change_overlap(case.study, fewer)


def close_fulfilled(case: ReviewCase | None = None) -> int:
    """Close what is not awaited any more, of one case or of all: returns to the pool whose tasks have the judgments
    asked for, and those that nobody can answer. Returns how many. For beat, and for whoever opens a case."""
    waits = Return.objects.filter(state=State.WAITING)
    if case is not None:
        waits = waits.filter(case=case)
    due = waits.filter(_JUDGED | _UNANSWERABLE | _rater_left()).values_list("case_id", flat=True)
    return sum(_close_fulfilled_of_case(case_id) for case_id in sorted(set(due)))


@transaction.atomic
def _close_fulfilled_of_case(case_id: int) -> int:
    cases = ReviewCase.objects.select_for_update(skip_locked=True, of=("self",)).select_related("study")
    case = cases.filter(pk=case_id).first()
    if case is None:
        return 0  # somebody is at it; the next round sees what is left
    waits = Return.objects.filter(case=case, state=State.WAITING)
    cancelled = _close_returns(waits.filter(_UNANSWERABLE | _rater_left()), State.CANCELLED)
    judged = _close_returns(waits.filter(_JUDGED), State.JUDGED)
    _record_closed(case, judged=judged, cancelled=cancelled)
    if judged + cancelled:
        _reopen_returned(case, actor=None)
    return judged + cancelled


_JUDGED = Q(assignment__isnull=True, task__n_judgments__gte=F("task__overlap"))
_UNANSWERABLE = Q(task__state=Task.State.WITHDRAWN)


def _rater_left() -> Q:
    """Returns to raters who rate in the study no more."""
    rating = Membership.objects.filter(
        study_id=OuterRef("study_id"),
        user_id=OuterRef("user_id"),
        role__in=RATING_ROLES,
        user__is_active=True,
    )
    at_work = Rater.objects.filter(Exists(rating), state=Rater.State.ACTIVE)
    return Q(rater__isnull=False) & ~Q(rater__in=at_work)


def _close_returns(waits: QuerySet[Return], state: Return.State, *, reply: str = "") -> int:
    ids = list(waits.values_list("pk", flat=True))
    still = Return.objects.filter(pk__in=ids, state=State.WAITING)
    return still.update(state=state, reply=reply, closed_at=timezone.now())


def _record_closed(case: ReviewCase, *, judged: int = 0, cancelled: int = 0) -> None:
    if judged or cancelled:
        audit.record(
            "returns.closed", actor=None, study=case.study, subject=f"case {case.pk}",
            judged=judged, cancelled=cancelled,
        )  # fmt: skip


def _reopen_returned(case: ReviewCase, *, actor: User | None) -> None:
    """Open a returned case again once nothing of it waits. Holds its lock."""
    if Return.objects.filter(case=case, state=State.WAITING).exists():
        return
    if case.state == ReviewCase.State.RETURNED:
        case.state = ReviewCase.State.OPEN
        case.save(update_fields=["state"])
    if case.state != ReviewCase.State.RESOLVED:
        review_cases.record_event(case, CaseEvent.Kind.CAME_BACK, actor=actor)
        # By nobody: a rater who looked again is told of by what they said.
        audit.record("case.came_back", actor=None, study=case.study, subject=f"case {case.pk}")


def _mark_returned(case: ReviewCase, user: User, **data: object) -> None:
    case.state, case.n_returns = ReviewCase.State.RETURNED, case.n_returns + 1
    case.claimed_by, case.claim_expires_at = None, None
    case.save(update_fields=["state", "n_returns", "claimed_by", "claim_expires_at"])
    review_cases.record_event(case, CaseEvent.Kind.RETURNED, actor=user, **data)
    audit.record("case.returned", actor=user, study=case.study, subject=f"case {case.pk}", **data)


def _check_comment(comment: str) -> None:
    if not comment.strip():
        problem = FieldProblem("comment", "Say what to look at; whoever is asked reads it.")
        raise InvalidInput("A return needs a comment.", problems=[problem])


def _returnable_judgments(case: ReviewCase, names: Sequence[uuid.UUID]) -> list[Judgment]:
    """The judgments of the case's version with these names, if the rater of each can be asked."""
    if not names:
        problem = FieldProblem("judgments", "Choose whose judgment to return.")
        raise InvalidInput("Nothing was returned.", problems=[problem])
    said = Judgment.objects.select_related("rater__user").filter(
        study_id=case.study_id, task__item_version_id=case.item_version_id, client_id__in=names
    )
    found = {judgment.client_id: judgment for judgment in said}
    members = _member_ids(case.study, found.values())
    waiting, reviewing = _awaited_assignments(found.values()), _reviewing(found.values())
    problems = [
        FieldProblem(f"judgments[{i}]", why)
        for i, name in enumerate(names)
        for why in _return_obstacles(found.get(name), members, waiting, reviewing)
    ]
    if problems:
        raise InvalidInput("Some raters cannot be asked; nothing was returned.", problems=problems)
    return [found[name] for name in names]


def _return_obstacles(
    judgment: Judgment | None,
    members: Collection[int],
    waiting: Collection[uuid.UUID],
    reviewing: Collection[tuple[int, int | None]],
) -> Iterator[str]:
    if judgment is None:
        yield "No judgment of this version is called so."
    elif judgment.origin == Judgment.Origin.EXPERT:
        yield "This is an expert's own judgment, not a rater's."
    elif judgment.assignment_id is None or judgment.rater is None or judgment.rater.user_id is None:
        yield "It was imported, and nobody with an account gave it. Return it to the pool."
    elif judgment.rater.user_id not in members or judgment.rater.state != Rater.State.ACTIVE:
        yield "Whoever gave it does not rate in this study any more. Return it to the pool."
    elif not judgment.effective or judgment.excluded:
        yield "It does not stand (any more): it was changed, excluded, or came too late to count."
    elif (judgment.task_id, judgment.rater_id) in reviewing:
        yield "Whoever gave it reviews this item and may have seen what others said. Return it to the pool."
    elif judgment.assignment_id in waiting:
        yield "It was returned before, and its rater has not answered yet."


def _member_ids(study: Study, judgments: Collection[Judgment]) -> set[int]:
    accounts = [judgment.rater.user for judgment in judgments if judgment.rater and judgment.rater.user]
    rating = Membership.objects.filter(study=study, role__in=RATING_ROLES, user__is_active=True)
    return set(rating.filter(user__in=accounts).values_list("user_id", flat=True))


def _awaited_assignments(judgments: Collection[Judgment]) -> set[uuid.UUID]:
    assignments = [judgment.assignment_id for judgment in judgments if judgment.assignment_id]
    waits = Return.objects.filter(assignment_id__in=assignments, state=State.WAITING)
    return {pk for pk in waits.values_list("assignment_id", flat=True) if pk is not None}


def _reviewing(judgments: Collection[Judgment]) -> set[tuple[int, int | None]]:
    """The tasks and raters among these where the rater reviews the task's item: oneself, or another expert."""
    bars = BarredRater.objects.filter(task__in={judgment.task_id for judgment in judgments})
    return set(bars.filter(reason=BarredRater.Reason.REVIEWS).values_list("task_id", "rater_id"))


# Cases that close with their item: what they were about was decided elsewhere.


@transaction.atomic
def close_item_cases(item: Item, *, decision: str, actor: User | None, but: ReviewCase | None = None) -> int:
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
    locks.end_item_leases(item.pk)
    for case in closed:
        case.state, case.decision = ReviewCase.State.RESOLVED, ReviewCase.Decision(decision)
        case.claimed_by, case.claim_expires_at = None, None
        case.decided_by, case.resolved_at = actor, timezone.now()
        case.save(
            update_fields=[
                "state", "claimed_by", "claim_expires_at", "decision", "decided_by", "resolved_at"
            ]
        )  # fmt: skip
        cancel_returns(case)
        drafts.settle_drafts(case, used={}, actor=actor)
    ids = [case.pk for case in closed]
    review_cases.record_events(ids, CaseEvent.Kind.DECIDED, actor=actor, decision=decision, elsewhere=True)
    if closed:
        audit.record("cases.closed", actor=actor, study=item.study, cases=ids, decision=str(decision))
    return len(closed)
