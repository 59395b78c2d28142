"""The door to review cases: from an id in a request to a case, for those who may know of it."""

from __future__ import annotations

from dataclasses import dataclass

from annotation.access import StudyAccess, study_of
from annotation.errors import NotAllowed, NotFound
from annotation.models import Item, ReviewCase, User


def study_with_queue(user: User, slug: str) -> StudyAccess:
    """A study whose review queue this account may see: its experts', and those who run it."""
    found = study_of(user, slug)
    if not (found.reviews or found.manages):
        raise NotAllowed("Only experts, researchers and admins of this study can see its review queue.")
    return found


def case_in_queue(user: User, case_id: int) -> ReviewCase:
    """A case that this account may know of, with its study, item and version. What it may see of it is another matter:
    votes and evidence only once it has judged, or runs the study."""
    case = (
        ReviewCase.objects.select_related(
            "study", "item", "item_version", "task", "claimed_by", "assigned_to"
        )
        .filter(pk=case_id)
        .first()
    )
    if case is None:
        raise NotFound
    found = study_of(user, case.study.slug)
    if not (found.reviews or found.manages):
        raise NotFound
    return case


def reviewed_case(user: User, case_id: int, *, lock: bool = False) -> ReviewCase:
    """A case as an expert works on it, with its study, item and version; locked until the transaction ends, when asked.

    Those who run a study do not review in it: they see votes as they come in, and cannot judge blind.
    """
    cases = ReviewCase.objects.select_related("study", "item", "item_version", "task").filter(pk=case_id)
    case = (cases.select_for_update(of=("self",)) if lock else cases).first()
    if case is None:
        raise NotFound
    found = study_of(user, case.study.slug)
    if found.manages:
        raise NotAllowed(
            "You run this study and see its votes; reviewing is for its experts, who judge first."
        )
    if not found.reviews:
        raise NotFound
    return case


@dataclass(frozen=True)
class ReviewedItem:
    """An item whose history this account may read. `votes_up_to`: the last version of which it may know the votes,
    the evidence and the drafts; None for all of them."""

    access: StudyAccess
    item: Item
    votes_up_to: int | None


def item_in_queue(user: User, slug: str, item_id: int) -> ReviewedItem:
    """An item of a study, for those who may see its queue.

    Experts know of the versions that they have judged blind and those before; of nothing while a case waits that they
    have not judged. Having judged one is not enough for what came after it: that may become a case of its own. Nor is
    having judged one whose correction was undone, for those before: the item is one of these again.
    """
    found = study_with_queue(user, slug)
    item = Item.objects.select_related("study").filter(study=found.study, pk=item_id).first()
    if item is None:
        raise NotFound
    return ReviewedItem(found, item, None if found.manages else _judged_up_to(user, item))


def _judged_up_to(user: User, item: Item) -> int:
    cases = ReviewCase.objects.filter(item=item).select_related("item_version", "blind_judgment__rater")
    judged, waiting = [0], False
    for case in cases:
        if _has_judged(user, case):
            judged.append(0 if case.item_version.retracted else case.item_version.number)
        elif case.state != ReviewCase.State.RESOLVED:
            waiting = True
    return 0 if waiting else max(judged)


def _has_judged(user: User, case: ReviewCase) -> bool:
    """A case without a task has nothing to be judged: whoever is at it, or decided it, may know of it."""
    if case.task_id is None:
        return user.pk in (case.claimed_by_id, case.decided_by_id)
    rater = case.blind_judgment.rater if case.blind_judgment else None
    return rater is not None and rater.user_id == user.pk
