"""The door to review cases: from an id in a request to a case, for those who may know of it."""

from __future__ import annotations

from annotation.access import StudyAccess, study_of
from annotation.errors import NotAllowed, NotFound
from annotation.models import ReviewCase, User


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
