"""Every review case of a study: why it was opened, the expert's blind judgment, what was decided, and the returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import OuterRef, Prefetch, Subquery

from analytics.records.people import Person, is_withdrawn, people_of
from analytics.records.plain import utc
from annotation.models import CaseEvent, CaseReason, Return, ReviewCase, Study

Record = dict[str, Any]

BATCH = 500


def case_records(study: Study) -> Iterator[Record]:
    """In the order opened. `blind_judgment` is the `client_id` of a judgment of origin `expert`."""
    known = people_of(study)
    rows = ReviewCase.objects.filter(study=study).order_by("pk")
    rows = rows.select_related(
        "item", "item_version", "task", "blind_judgment__rater__withdrawal"
    ).prefetch_related(
        Prefetch("reasons", CaseReason.objects.order_by("fired_at", "pk")),
        Prefetch("returns", Return.objects.order_by("pk").select_related("task", "rater__withdrawal")),
    )
    claims = CaseEvent.objects.filter(case=OuterRef("pk"), kind=CaseEvent.Kind.CLAIMED).order_by("-at")
    for row in rows.annotate(claimed_at=Subquery(claims.values("at")[:1])).iterator(chunk_size=BATCH):
        yield _case(row, known, study=study, claimed_at=utc(row.claimed_at))


def _case(row: ReviewCase, known: Mapping[int, Person], *, study: Study, claimed_at: str | None) -> Record:
    expert = known.get(row.decided_by_id or 0, Person())
    blind = row.blind_judgment
    if blind is not None and is_withdrawn(blind.rater):
        blind = None
    return {
        "study": study.slug,
        "case": row.pk,
        "item": row.item.external_id,
        "item_version": row.item_version.number,
        "task": row.task.external_id if row.task else None,
        "rules": [{"rule": one.rule, "fired_at": utc(one.fired_at)} for one in row.reasons.all()],
        "state": row.state,
        "decision": row.decision,
        "comment": row.comment,
        "expert": expert.pseudonym,
        "expert_role": expert.role,
        "blind_judgment": str(blind.client_id) if blind else None,
        "blind_at": utc(blind.submitted_at) if blind else None,
        "opened_at": utc(row.created_at),
        "claimed_at": claimed_at,
        "decided_at": utc(row.resolved_at),
        "returns": [_return(one) for one in row.returns.all()],
    }


def _return(row: Return) -> Record:
    """`to` is the rater's pseudonym, empty for one who has withdrawn, or "pool"."""
    gone = is_withdrawn(row.rater)
    return {
        "to": "" if gone else row.rater.pseudonym if row.rater else "pool",
        "task": row.task.external_id,
        "wanted": row.n_wanted,
        "comment": row.comment,
        "state": row.state,
        "reply": "" if gone else row.reply,
        "returned_at": utc(row.created_at),
        "closed_at": utc(row.closed_at),
    }
