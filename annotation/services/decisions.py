"""What experts decide about a case: fine as it is, corrected, or its item withdrawn.

Each begins with the claim (`cases.held`) and stands only once the expert has judged blind. Conflicts, by code:
`not_judged`, `item_withdrawn`, `version_changed` (the item was corrected meanwhile), `nothing_changed`.

Locks: all the item's unresolved cases, the item, then leases, tasks, raters and the study.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation import audit
from annotation.errors import Conflict, FieldProblem, InvalidInput
from annotation.models import CaseEvent, Correction, Draft, ItemVersion, ReviewCase, User
from annotation.rules import corrections as rules
from annotation.rules.review import CORRECTABLE
from annotation.services import (
    case_closing,
    case_events,
    casework,
    correction_sequels,
    drafts,
    returns,
    versions,
    withdrawals,
)

Decision = ReviewCase.Decision


@dataclass(frozen=True)
class Corrections:
    """What an expert wants an item to say.

    `version_id` is the version they had before them; `texts` hold fields of `rules.review.CORRECTABLE` with their new
    texts (those that stayed may be among them); `drafts` the draft that a field's text began as. `rewrite_answers`:
    answers are wanted anew, not carried over.
    """

    version_id: int
    texts: Mapping[str, str]
    reason: str
    comment: str = ""
    drafts: Mapping[str, int] = field(default_factory=dict)
    rewrite_answers: bool = False


@transaction.atomic
def fine(user: User, case_id: int, *, comment: str = "") -> ReviewCase:
    """Settle a case: the item is good as it is, and its judgments stand."""
    case, _ = casework.workable(user, case_id)
    returns.cancel(case)
    return _resolve(case, Decision.FINE, user, comment=comment)


@transaction.atomic
def correct(user: User, case_id: int, corrections: Corrections) -> ItemVersion:
    """Settle a case by a new version of its item, with one Correction for each field that changed."""
    case, item = casework.workable(user, case_id)
    before = case.item_version
    if corrections.version_id != before.pk:
        raise casework.version_changed()
    changes = _changes(before, corrections)
    began_as = drafts.chosen(case, {name: pk for name, pk in corrections.drafts.items() if name in changes})
    rewrite = corrections.rewrite_answers
    if rewrite:
        _check_writable(before)
    case_closing.close_for_item(item, decision=Decision.SUPERSEDED, actor=user, but=case)
    returns.cancel(case)
    version = versions.make(item, changes, actor=user, carry=not rewrite)
    rewrite = rewrite or versions.lacks_answers(version)
    _keep_corrections(case, version, changes, corrections, began_as, author=user)
    used = {draft.pk: draft.text == changes[name] for name, draft in began_as.items()}
    drafts.settle(case, used=used, actor=user)
    _resolve(
        case, Decision.CORRECTED, user, comment=corrections.comment, fields=list(changes),
        version=version.number, reason=corrections.reason,
    )  # fmt: skip
    correction_sequels.set_going(version, rewrite=rewrite, actor=user)
    return version


@transaction.atomic
def withdraw(user: User, case_id: int, *, comment: str) -> ReviewCase:
    """Settle a case by taking its item out of the study. The comment says why; one is required."""
    case, item = casework.workable(user, case_id)
    if not comment.strip():
        raise InvalidInput(
            "Say why this item is withdrawn.",
            problems=[FieldProblem("comment", "Say why, for whoever asks later.")],
        )
    case_closing.close_for_item(item, decision=Decision.WITHDRAWN, actor=user, but=case)
    returns.cancel(case)
    withdrawals.take_out(item, reason=comment.strip(), actor=user)
    return _resolve(case, Decision.WITHDRAWN, user, comment=comment)


def _changes(before: ItemVersion, corrections: Corrections) -> dict[str, str]:
    stated = {name: getattr(before, name) for name in CORRECTABLE}
    found = rules.faults(stated, corrections.texts, reason=corrections.reason)
    if found:
        problems = [FieldProblem(problem.field, problem.message) for problem in found]
        raise InvalidInput("This cannot be corrected so; nothing was changed.", problems=problems)
    changes = rules.changes(stated, corrections.texts)
    if not changes:
        message = "Nothing is different from before. Change a text, or say that the item is fine as it is."
        raise Conflict(message, code="nothing_changed")
    return changes


def _check_writable(version: ItemVersion) -> None:
    if version.candidates.filter(clip__isnull=False).exists():
        message = "This item's answers are sounds; new ones come by an import, not by a writer here."
        raise InvalidInput(message, problems=[FieldProblem("rewrite_answers", message)])


def _keep_corrections(
    case: ReviewCase,
    version: ItemVersion,
    changes: Mapping[str, str],
    corrections: Corrections,
    began_as: Mapping[str, Draft],
    *,
    author: User,
) -> None:
    Correction.objects.bulk_create(
        Correction(
            study_id=case.study_id,
            case=case,
            version_before=case.item_version,
            version_after=version,
            field=name,
            before=getattr(case.item_version, name),
            after=text,
            reason=corrections.reason,
            comment=corrections.comment.strip(),
            origin=_origin(text, began_as.get(name)),
            draft=began_as.get(name),
            author=author,
        )
        for name, text in changes.items()
    )


def _origin(text: str, draft: Draft | None) -> Correction.Origin:
    if draft is None:
        return Correction.Origin.EXPERT
    as_is = text == draft.text
    return Correction.Origin.DRAFT_ACCEPTED if as_is else Correction.Origin.DRAFT_EDITED


def _resolve(
    case: ReviewCase, decision: ReviewCase.Decision, user: User, *, comment: str, **data: Any
) -> ReviewCase:
    """Close a case that the caller has locked and whose returns it has cancelled."""
    case.state, case.decision = ReviewCase.State.RESOLVED, decision
    case.claimed_by, case.claim_expires_at = None, None
    case.decided_by, case.resolved_at = user, timezone.now()
    case.comment = comment.strip()
    case.save(
        update_fields=[
            "state", "decision", "claimed_by", "claim_expires_at", "decided_by", "resolved_at", "comment"
        ]
    )  # fmt: skip
    if decision != Decision.CORRECTED:
        drafts.settle(case, used={}, actor=user)
    case_events.record(
        case, CaseEvent.Kind.DECIDED, actor=user, decision=decision, comment=case.comment, **data
    )
    audit.record(
        f"case.{decision}", actor=user, study=case.study, subject=f"case {case.pk}",
        item=case.item.external_id, comment=case.comment, **data,
    )  # fmt: skip
    return case
