"""Audit log: append-only events. `record` is the one way to write it."""

from __future__ import annotations

from typing import Any

from django.db.models import Case, CharField, Exists, F, OuterRef, Q, QuerySet, Subquery, Value, When

from annotation.models import AuditEvent, Membership, Rater, Study, User
from annotation.models.people import MANAGING_ROLES


def record(
    action: str, *, actor: User | None, study: Study | None = None, subject: str = "", **data: Any
) -> None:
    """Write one event, inside the transaction of what it tells of."""
    AuditEvent.objects.create(action=action, actor=actor, study=study, subject=subject, data=data)


# ── Reading ────────────────────────────────────────────────────────────────────


# What only raters do: told under their pseudonym, even of somebody who runs the study by now.
_RATING = Q(action__startswith="judgment.")


def with_actor_names(events: QuerySet[AuditEvent]) -> QuerySet[AuditEvent]:
    """With `actor_name`: raters' pseudonym in the study, null for one who has withdrawn; the name of everybody else,
    and of whoever runs the study, who answers for what they did. Null, too, where no account did it."""
    here = {"study_id": OuterRef("study_id"), "user_id": OuterRef("actor_id")}
    runs = Exists(Membership.objects.filter(role__in=MANAGING_ROLES, **here)) | Q(actor__is_superuser=True)
    rater = Rater.objects.filter(**here)
    named = Case(
        When(Q(runs) & ~_RATING, then=F("actor__name")),
        When(Exists(rater.filter(state=Rater.State.WITHDRAWN)), then=Value(None)),
        When(Exists(rater), then=Subquery(rater.values("pseudonym"))),
        default=F("actor__name"),
        output_field=CharField(),
    )
    return events.annotate(actor_name=named)
