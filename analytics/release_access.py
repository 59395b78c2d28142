"""The door from a number in a request to a release."""

from __future__ import annotations

from analytics.models import Release
from annotation import access
from annotation.errors import NotFound
from annotation.models import User


def release_of(user: User, slug: str, number: int) -> Release:
    """A release of a study that this account runs."""
    study = access.managed_study(user, slug)
    # More than the column holds is no release's number.
    found = Release.objects.select_related("study").filter(study=study, number=min(number, 2**31 - 1)).first()
    if found is None:
        raise NotFound
    return found
