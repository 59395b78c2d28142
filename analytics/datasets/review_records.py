"""Export records of review cases (adjudication) and corrections.

Members are named by pseudonym and role, never by account. Those who have withdrawn have neither name nor words.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from django.db.models import OuterRef, Prefetch, Subquery

from analytics.datasets.values import Record, utc_text, without_paths
from annotation.models import CaseEvent, CaseReason, Correction, Membership, Rater, Return, ReviewCase, Study


@dataclass(frozen=True)
class Person:
    """`pseudonym` is empty for those who do not rate, `role` for those who are no longer members."""

    pseudonym: str = ""
    role: str = ""


def people_by_account(study: Study) -> dict[int, Person]:
    """By account."""
    raters = Rater.objects.filter(study=study, user__isnull=False, withdrawal=None)
    roles = dict(Membership.objects.filter(study=study).values_list("user_id", "role"))
    pseudonyms = dict(raters.values_list("user_id", "pseudonym"))
    return {
        user: Person(pseudonyms.get(user, ""), roles.get(user, ""))
        for user in pseudonyms.keys() | roles.keys()
    }


def is_withdrawn(rater: Rater | None) -> bool:
    """Read with `select_related("withdrawal")`."""
    return rater is not None and hasattr(rater, "withdrawal")


def withdrawn_accounts(study: Study) -> set[int]:
    """Accounts of those who have withdrawn: as experts they may have left words elsewhere than in judgments."""
    gone = Rater.objects.filter(study=study, user__isnull=False, withdrawal__isnull=False)
    return {user for user in gone.values_list("user_id", flat=True) if user is not None}


CASE_BATCH = 500


def case_records(study: Study) -> Iterator[Record]:
    """In the order opened. `blind_judgment` is the `client_id` of a judgment of origin `expert`. Of an expert who has
    withdrawn, comments and times are not told; how the case stands is."""
    known, gone = people_by_account(study), withdrawn_accounts(study)
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
    for row in rows.iterator(chunk_size=CASE_BATCH):
        claimed_at = None if row.claimant in gone else utc_text(row.claimed_at)
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
        "rules": [{"rule": one.rule, "fired_at": utc_text(one.fired_at)} for one in row.reasons.all()],
        "state": row.state,
        "decision": row.decision,
        "comment": "" if has_gone else row.comment,
        "expert": expert.pseudonym,
        "expert_role": expert.role,
        "blind_judgment": str(blind.client_id) if blind else None,
        "blind_at": utc_text(blind.submitted_at) if blind else None,
        "opened_at": utc_text(row.created_at),
        "claimed_at": claimed_at,
        "decided_at": None if has_gone else utc_text(row.resolved_at),
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
        "returned_at": None if asker_gone else utc_text(row.created_at),
        "closed_at": None if asked_gone else utc_text(row.closed_at),
    }


CORRECTION_BATCH = 2000


def correction_records(study: Study) -> Iterator[Record]:
    """In the order made. `undone`: the version it made was taken back, and is not the item's text. Of an author who has
    withdrawn, comment and time are not told; what they made of the item is."""
    rows = Correction.objects.filter(version_after__item__study=study).order_by("pk")
    known, gone = people_by_account(study), withdrawn_accounts(study)
    read = rows.select_related("version_before", "version_after__item", "draft")
    for row in read.iterator(chunk_size=CORRECTION_BATCH):
        author, has_gone = known.get(row.author_id, Person()), row.author_id in gone
        yield {
            "study": study.slug,
            "item": row.version_after.item.external_id,
            "version_before": row.version_before.number,
            "version_after": row.version_after.number,
            "undone": row.version_after.retracted,
            "case": row.case_id,
            "field": row.field,
            "before": row.before,
            "after": row.after,
            "reason": row.reason,
            "comment": "" if has_gone else row.comment,
            "origin": row.origin,
            "draft_writer": row.draft.writer if row.draft else "",
            "draft_text": row.draft.text if row.draft else "",
            "draft_provenance": without_paths(row.draft.provenance) if row.draft else None,
            "author": author.pseudonym,
            "author_role": author.role,
            "corrected_at": None if has_gone else utc_text(row.created_at),
        }
