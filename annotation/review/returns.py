"""Returns: an expert asks the rater of a judgment to look again, or the pool for more judgments.

A case that awaits answers is claimed by nobody; it goes back to the queue when no return waits any more. Lock order:
the case, its returns, then the tasks and judgments that they are about.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

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
    Task,
    User,
)
from annotation.models.people import RATING_ROLES
from annotation.rating import overlap
from annotation.review import blind_judgments, drafts
from annotation.review import cases as review_cases
from annotation.review.rules import ReviewSettings
from annotation.studies import audit
from annotation.studies.settings import declared


def decidable_case(user: User, case_id: int) -> tuple[ReviewCase, Item]:
    """A case that this expert may decide now, and its item, both locked. Every decision begins here."""
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


@transaction.atomic
def return_to_rater(
    user: User, case_id: int, judgment_client_ids: Sequence[uuid.UUID], comment: str
) -> list[Return]:
    """Ask the raters of these judgments to look again. Until they did, they may change their vote at any time.

    Raises InvalidInput that says of each judgment why its rater cannot be asked: no account, no member any more, …
    """
    case, _ = decidable_case(user, case_id)
    _check_comment(comment)
    client_ids = list(dict.fromkeys(judgment_client_ids))
    returns = Return.objects.bulk_create(
        Return(
            case=case,
            task_id=judgment.task_id,
            assignment_id=judgment.assignment_id,
            rater_id=judgment.rater_id,
            comment=comment.strip(),
            created_by=user,
        )
        for judgment in _returnable_judgments(case, client_ids)
    )
    _mark_returned(case, user, to="rater", comment=comment.strip(), judgments=[str(pk) for pk in client_ids])
    return returns


@transaction.atomic
def return_to_pool(user: User, case_id: int, comment: str, votes: int | None = None) -> list[Return]:
    """Ask for so many more judgments (by default the study's `pool_votes`) of each task of the case's version."""
    case, item = decidable_case(user, case_id)
    _check_comment(comment)
    n_wanted = ReviewSettings.of(case.study.rules).pool_votes if votes is None else votes
    if problem := declared(ReviewSettings)["pool_votes"].problem_of(n_wanted):
        problems = [FieldProblem("votes", problem)]
        raise InvalidInput("So many judgments cannot be asked for.", problems=problems)
    ready = Task.objects.filter(item_version_id=item.current_version_id, state=Task.State.READY)
    tasks = list(ready.order_by("pk").values_list("pk", flat=True))
    if not tasks:
        raise InvalidInput("This item has no task that anybody could judge; nothing was returned.")
    returns = Return.objects.bulk_create(
        Return(case=case, task_id=pk, n_wanted=n_wanted, comment=comment.strip(), created_by=user)
        for pk in tasks
    )
    _mark_returned(case, user, to="pool", comment=comment.strip(), votes=n_wanted, tasks=len(tasks))
    overlap.change_overlap(case.study, dict.fromkeys(tasks, n_wanted))
    return returns


def waiting_returns(user: User, slug: str) -> list[Return]:
    """What waits for this account's rater in a study, the oldest first."""
    rater = access.rater_of(user, slug)
    return list(Return.objects.filter(rater=rater, state=State.WAITING).order_by("pk"))


@transaction.atomic
def keep_judgment(user: User, return_id: int, reply: str = "") -> None:
    """The rater looked again and stays with their vote. Raises NotFound where it is not theirs, Conflict `closed`."""
    memberships = Membership.objects.filter(user=user, role__in=RATING_ROLES).values("study_id")
    own = Return.objects.filter(pk=return_id, rater__user=user, rater__study_id__in=memberships)
    pair = own.values_list("case_id", "assignment_id").first()
    if pair is None:
        raise NotFound
    case_id, assignment_id = pair
    case = ReviewCase.objects.select_for_update().get(pk=case_id)
    access.check_token_study(user, case.study_id)
    if not _close_returns(own.filter(state=State.WAITING), State.KEPT, reply=reply.strip()):
        raise Conflict("This request is closed: it was answered, or the case was decided.", code="closed")
    subject = f"assignment {assignment_id}"
    audit.record("judgment.kept", actor=user, study=case.study, subject=subject, case=case.pk)
    _reopen_returned(case, actor=user)


def is_awaited(assignment_id: uuid.UUID) -> bool:
    """Whether an expert waits for the rater of this assignment to look again."""
    return Return.objects.filter(assignment_id=assignment_id, state=State.WAITING).exists()


def case_awaiting(user: User, assignment_id: uuid.UUID) -> ReviewCase | None:
    """The case that waits for this rater to look at their assignment again, locked; before the assignment itself is."""
    waiting = Return.objects.filter(assignment_id=assignment_id, rater__user=user, state=State.WAITING)
    case_id = waiting.values_list("case_id", flat=True).first()
    if case_id is None:
        return None
    case = ReviewCase.objects.select_for_update().get(pk=case_id)
    return case if waiting.exists() else None


def close_answered(case: ReviewCase, assignment_id: uuid.UUID, *, actor: User) -> None:
    """The rater changed their vote. Holds the case's lock."""
    waiting = Return.objects.filter(case=case, assignment_id=assignment_id, state=State.WAITING)
    _close_returns(waiting, State.CHANGED)
    _reopen_returned(case, actor=actor)


def cancel_returns(case: ReviewCase) -> None:
    """The case is settled: nothing is awaited any more, and no task takes more judgments on its account.

    Holds the case's lock; locks tasks, raters and the study. Comes before what replaces the tasks: their successors
    want as many judgments."""
    waiting = Return.objects.filter(case=case, state=State.WAITING)
    extra = waiting.filter(assignment__isnull=True).values_list("task_id").annotate(Sum("n_wanted"))
    reductions = {task_id: -n_wanted for task_id, n_wanted in extra.order_by("task_id")}
    _record_closed(case, cancelled=_close_returns(waiting, State.CANCELLED))
    overlap.change_overlap(case.study, reductions)


def close_fulfilled(case: ReviewCase | None = None) -> int:
    """Close what is not awaited any more, of one case or of all: returns to the pool whose tasks have the judgments
    asked for, and those that nobody can answer. Returns how many. For beat, and for whoever opens a case."""
    waiting = Return.objects.filter(state=State.WAITING)
    if case is not None:
        waiting = waiting.filter(case=case)
    due = waiting.filter(_JUDGED | _UNANSWERABLE | _rater_left()).values_list("case_id", flat=True)
    return sum(_close_fulfilled_of_case(case_id) for case_id in sorted(set(due)))


@transaction.atomic
def _close_fulfilled_of_case(case_id: int) -> int:
    cases = ReviewCase.objects.select_for_update(skip_locked=True, of=("self",)).select_related("study")
    case = cases.filter(pk=case_id).first()
    if case is None:
        return 0  # somebody is at it; the next round sees what is left
    waiting = Return.objects.filter(case=case, state=State.WAITING)
    cancelled = _close_returns(waiting.filter(_UNANSWERABLE | _rater_left()), State.CANCELLED)
    judged = _close_returns(waiting.filter(_JUDGED), State.JUDGED)
    _record_closed(case, judged=judged, cancelled=cancelled)
    if judged + cancelled:
        _reopen_returned(case, actor=None)
    return judged + cancelled


_JUDGED = Q(assignment__isnull=True, task__n_judgments__gte=F("task__overlap"))
_UNANSWERABLE = Q(task__state=Task.State.WITHDRAWN)


def _rater_left() -> Q:
    """Returns to raters who rate in the study no more."""
    at_work = Rater.objects.filter(_is_rating_member(), state=Rater.State.ACTIVE)
    return Q(rater__isnull=False) & ~Q(rater__in=at_work)


def _is_rating_member(rater: str = "") -> Exists:
    """Whether a rater's account is active and rates in the study. `rater`: the path to it, such as `rater__`."""
    return Exists(
        Membership.objects.filter(
            study_id=OuterRef(f"{rater}study_id"),
            user_id=OuterRef(f"{rater}user_id"),
            role__in=RATING_ROLES,
            user__is_active=True,
        )
    )


def _close_returns(returns: QuerySet[Return], state: Return.State, *, reply: str = "") -> int:
    ids = list(returns.values_list("pk", flat=True))
    still = Return.objects.filter(pk__in=ids, state=State.WAITING)
    return still.update(state=state, reply=reply, closed_at=timezone.now())


def _record_closed(case: ReviewCase, *, judged: int = 0, cancelled: int = 0) -> None:
    if judged or cancelled:
        review_cases.audit_case("returns.closed", case, actor=None, judged=judged, cancelled=cancelled)


def _reopen_returned(case: ReviewCase, *, actor: User | None) -> None:
    """Open a returned case again once nothing of it waits. Holds its lock."""
    if Return.objects.filter(case=case, state=State.WAITING).exists():
        return
    if case.state == ReviewCase.State.RETURNED:
        review_cases.change_case(case, state=ReviewCase.State.OPEN)
    if case.state != ReviewCase.State.RESOLVED:
        review_cases.record_event(case, CaseEvent.Kind.CAME_BACK, actor=actor)
        # Without an actor: the rater's own answer is logged already.
        review_cases.audit_case("case.came_back", case, actor=None)


def _mark_returned(case: ReviewCase, user: User, **data: object) -> None:
    returned, n_returns = ReviewCase.State.RETURNED, case.n_returns + 1
    review_cases.change_case(case, state=returned, n_returns=n_returns, **review_cases.UNCLAIMED)
    review_cases.record_event(case, CaseEvent.Kind.RETURNED, actor=user, **data)
    review_cases.audit_case("case.returned", case, actor=user, **data)


def _check_comment(comment: str) -> None:
    if not comment.strip():
        problem = FieldProblem("comment", "Say what to look at; whoever is asked reads it.")
        raise InvalidInput("A return needs a comment.", problems=[problem])


def _returnable_judgments(case: ReviewCase, client_ids: Sequence[uuid.UUID]) -> list[Judgment]:
    """The judgments of the case's version with these ids, if the rater of each can be asked."""
    if not client_ids:
        problem = FieldProblem("judgments", "Choose whose judgment to return.")
        raise InvalidInput("Nothing was returned.", problems=[problem])
    reviews = BarredRater.objects.filter(
        task_id=OuterRef("task_id"), rater_id=OuterRef("rater_id"), reason=BarredRater.Reason.REVIEWS
    )
    waiting = Return.objects.filter(assignment_id=OuterRef("assignment_id"), state=State.WAITING)
    judgments = Judgment.objects.select_related("rater").filter(
        study_id=case.study_id, task__item_version_id=case.item_version_id, client_id__in=client_ids
    )
    found = {
        judgment.client_id: judgment
        for judgment in judgments.annotate(
            may_rate=_is_rating_member("rater__"), reviews=Exists(reviews), waits=Exists(waiting)
        )
    }
    problems = [
        FieldProblem(f"judgments[{i}]", obstacle)
        for i, client_id in enumerate(client_ids)
        if (obstacle := _return_obstacle(found.get(client_id)))
    ]
    if problems:
        raise InvalidInput("Some raters cannot be asked; nothing was returned.", problems=problems)
    return [found[client_id] for client_id in client_ids]


def _return_obstacle(judgment: Any) -> str:
    """Why the rater of this judgment, with its annotations, cannot be asked; empty where they can."""
    if judgment is None:
        return "No judgment of this version is called so."
    if judgment.origin == Judgment.Origin.EXPERT:
        return "This is an expert's own judgment, not a rater's."
    if judgment.assignment_id is None or judgment.rater is None or judgment.rater.user_id is None:
        return "It was imported, and nobody with an account gave it. Return it to the pool."
    if not judgment.may_rate or judgment.rater.state != Rater.State.ACTIVE:
        return "Whoever gave it does not rate in this study any more. Return it to the pool."
    if not judgment.effective or judgment.excluded:
        return "It does not stand (any more): it was changed, excluded, or came too late to count."
    if judgment.reviews:
        return "Whoever gave it reviews this item and may have seen what others said. Return it to the pool."
    return "It was returned before, and its rater has not answered yet." if judgment.waits else ""


@transaction.atomic
def close_item_cases(
    item: Item, *, decision: str, actor: User | None, except_case: ReviewCase | None = None
) -> int:
    """Resolve every unresolved case of an item (of any of its versions) because something was decided elsewhere: the
    item was withdrawn (`withdrawn`) or has another version now (`superseded`). Nobody is asked for anything on their
    account any more, and their drafts fall away. `except_case` is left alone: the case in which it was decided.

    For whoever is about to change the item as a whole, and before that: tasks get back the overlap that they had
    without returns, which their successors take from them. All leases on the item's tasks end. The caller holds the
    locks of the item's cases and of the item. Returns how many it closed.
    """
    cases = ReviewCase.objects.select_for_update(of=("self",)).select_related("study").filter(item=item)
    unresolved = cases.exclude(state=ReviewCase.State.RESOLVED).order_by("pk")
    closed = [case for case in unresolved if except_case is None or case.pk != except_case.pk]
    locks.end_item_leases(item.pk)
    for case in closed:
        review_cases.resolve_case(case, ReviewCase.Decision(decision), by=actor)
        cancel_returns(case)
        drafts.settle_drafts(case, used={}, actor=actor)
    ids = [case.pk for case in closed]
    review_cases.record_events(ids, CaseEvent.Kind.DECIDED, actor=actor, decision=decision, elsewhere=True)
    if closed:
        audit.record("cases.closed", actor=actor, study=item.study, cases=ids, decision=str(decision))
    return len(closed)
