"""Clearance: what makes a step due again empties `Rater.cleared_until`, and the next request for a task looks anew."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import QuerySet
from django.utils import timezone

from annotation import access
from annotation.errors import NotAllowed
from annotation.models import Rater, TrainingRun


def lock_rater(rater: Rater) -> Rater:
    """The rater as they are now, with their study, locked until the transaction ends: two tabs decide once."""
    return Rater.objects.select_for_update(no_key=True, of=("self",)).select_related("study").get(pk=rater.pk)


def lock_participant(rater: Rater, *, at_work: bool = False) -> Rater:
    """The same. Raises NotAllowed for a rater who has withdrawn and, `at_work`, for one who may not rate now; Conflict
    `archived` where the request would change an archived study."""
    locked = lock_rater(rater)
    access.check_not_archived(locked.study)
    if locked.state == Rater.State.WITHDRAWN:
        raise NotAllowed("You have withdrawn from this study.", code="rater_withdrawn")
    if at_work and locked.state != Rater.State.ACTIVE:
        raise NotAllowed(
            "Your work in this study is paused; ask the researcher who invited you.", code="rater_paused"
        )
    return locked


def revoke_clearance(raters: QuerySet[Rater] | Iterable[Rater]) -> None:
    """These raters get no task before the steps are looked at again. Nothing that they hold or have done is lost."""
    Rater.objects.filter(pk__in=_ids(raters), cleared_until__isnull=False).update(cleared_until=None)


def revoke_training(raters: QuerySet[Rater] | Iterable[Rater], *, reason: str) -> int:
    """Training is due again for these raters, with all attempts. Returns how many runs this revokes."""
    ids = _ids(raters)
    runs = TrainingRun.objects.filter(rater__in=ids, revoked_at=None)
    revoke_clearance(raters)
    return runs.update(revoked_at=timezone.now(), revoked_for=reason[:200])


def _ids(raters: QuerySet[Rater] | Iterable[Rater]) -> list[int]:
    return [rater.pk for rater in raters]
