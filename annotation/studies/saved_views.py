"""Saved views: filters of a list under a name, one's own or shared with everybody who sees that list.

The review queue has them, and each table of a study's data. Who may see a list is decided by whoever calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import Q

from annotation.errors import InvalidInput, NotFound
from annotation.models import SavedView, Study, User
from annotation.studies import audit

# More of one list than anybody finds again.
MAX_VIEWS = 50
MAX_NAME = 80
REVIEW = SavedView.Page.REVIEW


def visible_views(study: Study, page: str, *, user: User) -> list[SavedView]:
    """This user's own views of a list and those that others share, by name."""
    views = SavedView.objects.filter(Q(owner=user) | Q(shared=True), study=study, page=page)
    return list(views.select_related("owner").order_by("name", "pk"))


@transaction.atomic
def save_view(
    study: Study, page: str, *, user: User, name: str, filters: Mapping[str, Any], shared: bool = False
) -> SavedView:
    """Save filters under a name; one's own view of that name is replaced. Raises InvalidInput naming `name`."""
    name = name.strip()
    own = SavedView.objects.filter(study=study, owner=user, page=page)
    if not 0 < len(name) <= MAX_NAME:
        raise _invalid_name(f"Give it a name of 1 to {MAX_NAME} characters.")
    if not own.filter(name=name).exists() and own.count() >= MAX_VIEWS:
        raise _invalid_name(f"You have {MAX_VIEWS} views of this list; delete one first.")
    view, _ = SavedView.objects.update_or_create(
        study=study, owner=user, page=page, name=name, defaults={"filters": dict(filters), "shared": shared}
    )
    audit.record("view.saved", actor=user, study=study, subject=name, page=page, shared=shared)
    return view


@transaction.atomic
def delete_view(study: Study, page: str, view_id: int, *, user: User, manages: bool) -> None:
    """Forget one of one's own views; those who run the study may forget shared ones."""
    theirs = Q(owner=user) | Q(shared=True) if manages else Q(owner=user)
    view = SavedView.objects.filter(theirs, study=study, page=page, pk=view_id).first()
    if view is None:
        raise NotFound
    view.delete()
    audit.record("view.deleted", actor=user, study=study, subject=view.name, page=page)


def _invalid_name(message: str) -> InvalidInput:
    return InvalidInput.of_field("name", message, summary="This view cannot be saved.")
