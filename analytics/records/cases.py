"""Every review case of a study: why it was opened, the expert's blind judgment, what was decided, and the returns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from django.db.models import OuterRef, Prefetch, Subquery

from analytics.records.people import Person, accounts_gone, is_withdrawn, people_of
from analytics.records.plain import utc
from annotation.models import CaseEvent, CaseReason, Return, ReviewCase, Study

Record = dict[str, Any]

BATCH = 500


def case_records(study: Study) -> Iterator[Record]:
    """In the order opened. `blind_judgment` is the `client_id` of a judgment of origin `expert`. Of an expert who has
    withdrawn, comments and times are not told; how the case stands is."""
    known, gone = people_of(study), accounts_gone(study)
    rows = ReviewCase.objects.filter(study=study).order_by("pk")
    rows = rows.select_related(
        "item", "item_version", "task", "blind_judgment__rater__withdrawal"
    ).prefetch_related(
        Prefetch("reasons", CaseReason.objects.order_by("fired_at", "pk")),
        Prefetch("returns", Return.objects.order_by("pk").select_related("task", "rater__withdrawal")),
    )
    claims = CaseEvent.objects.filter(case=OuterRef("pk"), kind=CaseEvent.Kind.CLAIMED).order_by("-at")
    rows = rows.annotate(
        claimed_at=Subquery(claims.values("at")[:1]), claimant=Subquery(claims.values("actor")[:1])
    )
    for row in rows.iterator(chunk_size=BATCH):
        claimed_at = None if row.claimant in gone else utc(row.claimed_at)
        yield _case(row, known, gone, study=study, claimed_at=claimed_at)


def _case(
    row: ReviewCase,
    known: Mapping[int, Person],
    gone: Collection[int],
    *,
    study: Study,
    claimed_at: str | None,
) -> Record:
    expert, has_gone = known.get(row.decided_by_id or 0, Person()), row.decided_by_id in gone
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
        "comment": "" if has_gone else row.comment,
        "expert": expert.pseudonym,
        "expert_role": expert.role,
        "blind_judgment": str(blind.client_id) if blind else None,
        "blind_at": utc(blind.submitted_at) if blind else None,
        "opened_at": utc(row.created_at),
        "claimed_at": claimed_at,
        "decided_at": None if has_gone else utc(row.resolved_at),
        "returns": [_return(one, gone) for one in row.returns.all()],
    }


def _return(row: Return, gone: Collection[int]) -> Record:
    """`to` is the rater's pseudonym, empty for one who has withdrawn, or "pool"."""
    asker_gone, asked_gone = row.created_by_id in gone, is_withdrawn(row.rater)
    return {
        "to": "" if asked_gone else row.rater.pseudonym if row.rater else "pool",
        "task": row.task.external_id,
        "wanted": row.n_wanted,
        "comment": "" if asker_gone else row.comment,
        "state": row.state,
        "reply": "" if asked_gone else row.reply,
        "returned_at": None if asker_gone else utc(row.created_at),
        "closed_at": None if asked_gone else utc(row.closed_at),
    }
