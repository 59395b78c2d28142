"""Saved filters of the review queue."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Q

from annotation import audit
from annotation.errors import FieldProblem, InvalidInput, NotFound
from annotation.models import ReviewView, User
from annotation.review_access import study_with_queue
from annotation.services.case_queue import Filters

# More than anybody finds again in a list.
MOST_VIEWS = 50


def of(user: User, slug: str) -> list[ReviewView]:
    """This user's own views of a study's queue and those that others share, by name."""
    study = study_with_queue(user, slug).study
    views = ReviewView.objects.filter(Q(owner=user) | Q(shared=True), study=study)
    return list(views.select_related("owner").order_by("name", "pk"))


@transaction.atomic
def save(user: User, slug: str, *, name: str, filters: Filters, shared: bool = False) -> ReviewView:
    """Save filters under a name; one's own view of that name is replaced. Raises InvalidInput naming `name`."""
    study = study_with_queue(user, slug).study
    name = name.strip()
    own = ReviewView.objects.filter(study=study, owner=user)
    if not 0 < len(name) <= 80:
        raise _refused("Give it a name of 1 to 80 characters.")
    if not own.filter(name=name).exists() and own.count() >= MOST_VIEWS:
        raise _refused(f"You have {MOST_VIEWS} views of this queue; delete one first.")
    view, _ = ReviewView.objects.update_or_create(
        study=study, owner=user, name=name, defaults={"filters": filters.as_json(), "shared": shared}
    )
    audit.record("review_view.saved", actor=user, study=study, subject=name, shared=shared)
    return view


@transaction.atomic
def delete(user: User, slug: str, view_id: int) -> None:
    """Forget one of one's own views; those who run the study may forget shared ones."""
    found = study_with_queue(user, slug)
    theirs = Q(owner=user) | Q(shared=True) if found.manages else Q(owner=user)
    view = ReviewView.objects.filter(theirs, study=found.study, pk=view_id).first()
    if view is None:
        raise NotFound
    view.delete()
    audit.record("review_view.deleted", actor=user, study=found.study, subject=view.name)


def _refused(message: str) -> InvalidInput:
    return InvalidInput("This view cannot be saved.", problems=[FieldProblem("name", message)])
