"""AI drafts of an item's texts: requested, proposed, then accepted, edited or rejected by an expert.

A draft waits until its writer has written (`propose`) or could not (`fail`). Only a person publishes it: `correct`
settles the drafts of a case as accepted, edited or unused. Whoever changes drafts of a case holds the case's lock; a
writer, who cannot wait for it, changes only one that waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import Case, CharField, F, QuerySet, Value, When
from django.utils import timezone

from annotation.errors import Conflict, FieldProblem, InvalidInput, NotFound
from annotation.models import CaseEvent, Draft, ReviewCase, User
from annotation.review import blind_judgments, cases
from annotation.review.rules import CORRECTABLE_FIELDS, normalize_text
from annotation.studies import audit

State = Draft.State
# What a decision makes of drafts that it did not take up; undone, it gives them back.
_OPEN = (State.WAITING, State.PROPOSED)
_SETTLED = (State.ACCEPTED, State.EDITED, State.UNUSED)
# What became of a draft: its state, but `LATE` where its case was decided before it came. Nobody has seen such a one.
LATE = "late"
OUTCOME = Case(
    When(state=State.UNUSED, written_at__isnull=True, then=Value(LATE)),
    default=F("state"),
    output_field=CharField(),
)


@transaction.atomic
def request_draft(case: ReviewCase, *, field: str, writer: str, actor: User | None) -> Draft:
    """Ask for a draft of one field of the case's version: the one that waits already, or a new one.

    Raises InvalidInput where the field is none that is corrected, Conflict `resolved` where the case is settled.
    """
    if field not in CORRECTABLE_FIELDS:
        raise InvalidInput(
            "No drafts are written of this field.",
            problems=[FieldProblem("field", f"{field!r} is not one of {', '.join(CORRECTABLE_FIELDS)}.")],
        )
    state = ReviewCase.objects.select_for_update(no_key=True).values_list("state", flat=True).get(pk=case.pk)
    if state == ReviewCase.State.RESOLVED:
        raise Conflict("This case is settled; no drafts are written for it.", code="resolved")
    request = {"case": case, "item_version_id": case.item_version_id, "field": field, "writer": writer}
    waiting = Draft.objects.filter(**request, state=State.WAITING).first()
    if waiting is not None:
        return waiting
    draft = Draft.objects.create(**request, requested_by=actor)
    cases.record_event(case, CaseEvent.Kind.DRAFTED, actor=actor, field=field, writer=writer)
    _audit_draft("requested", draft, actor=actor)
    return draft


def store_proposal(draft_id: int, *, text: str, provenance: Mapping[str, Any]) -> bool:
    """Store what was written. False, and nothing stored, where the draft waits no more (its case is settled, say)."""
    return _store_result(
        draft_id, state=State.PROPOSED, text=normalize_text(text), provenance=dict(provenance)
    )


def store_failure(draft_id: int, *, problem: str, provenance: Mapping[str, Any] | None = None) -> bool:
    """Store why nothing was written, in words for the expert. False where the draft waits no more."""
    return _store_result(draft_id, state=State.FAILED, problem=problem, provenance=dict(provenance or {}))


@transaction.atomic
def reject_draft(user: User, draft_id: int) -> Draft:
    """The expert who holds the case does not want this draft. Rejecting twice is once."""
    case_id = Draft.objects.filter(pk=draft_id).values_list("case_id", flat=True).first()
    if case_id is None:
        raise NotFound
    case = cases.claimed_case(user, case_id)
    if not blind_judgments.has_judged_blind(case, user):
        raise NotFound
    draft = Draft.objects.get(pk=draft_id)
    if draft.state == State.REJECTED:
        return draft
    _set_state(Draft.objects.filter(pk=draft_id, state=State.PROPOSED), State.REJECTED, user)
    draft.refresh_from_db()
    if draft.state != State.REJECTED:
        raise Conflict("This draft is not there to be rejected (any more).", code="not_proposed")
    _audit_draft("rejected", draft, actor=user)
    return draft


def chosen_drafts(case: ReviewCase, named: Mapping[str, int]) -> dict[str, Draft]:
    """The proposed drafts that these fields' texts began as. Raises InvalidInput that points at each that is none."""
    drafts = {draft.pk: draft for draft in Draft.objects.filter(pk__in=named.values(), case=case)}
    problems = []
    for field, draft_id in named.items():
        draft = drafts.get(draft_id)
        if draft is None or draft.field != field or draft.state != State.PROPOSED:
            message = f"Draft {draft_id} is no proposal for the {field} of this case; take another, or none."
            problems.append(FieldProblem(f"drafts.{field}", message))
    if problems:
        raise InvalidInput("A draft cannot be used; nothing was changed.", problems=problems)
    return {field: drafts[draft_id] for field, draft_id in named.items()}


def settle_drafts(case: ReviewCase, *, used: Mapping[int, bool], actor: User | None) -> None:
    """The case is decided: of the drafts `used`, those whose value is True were taken unedited; the rest fall away."""
    of_case = Draft.objects.filter(case=case)
    _set_state(of_case.filter(pk__in=[pk for pk, as_is in used.items() if as_is]), State.ACCEPTED, actor)
    _set_state(of_case.filter(pk__in=[pk for pk, as_is in used.items() if not as_is]), State.EDITED, actor)
    _set_state(of_case.filter(state__in=_OPEN), State.UNUSED, actor)


def reopen_drafts(case: ReviewCase) -> None:
    """The decision is taken back: what was written is proposed again. What was rejected stays so."""
    written = Draft.objects.filter(case=case, state__in=_SETTLED, written_at__isnull=False)
    written.update(state=State.PROPOSED, settled_by=None, settled_at=None)


@transaction.atomic
def _store_result(draft_id: int, *, state: Draft.State, **fields: Any) -> bool:
    waiting = Draft.objects.filter(pk=draft_id, state=State.WAITING)
    if not waiting.update(state=state, **fields, written_at=timezone.now()):
        return False
    _audit_draft(state.value, Draft.objects.select_related("case__study").get(pk=draft_id), actor=None)
    return True


def _audit_draft(what: str, draft: Draft, *, actor: User | None) -> None:
    case = draft.case
    audit.record(
        f"draft.{what}", actor=actor, study=case.study, subject=f"draft {draft.pk}", case=case.pk,
        field=draft.field, writer=draft.writer,
    )  # fmt: skip


def _set_state(drafts: QuerySet[Draft], state: Draft.State, actor: User | None) -> None:
    drafts.update(state=state, settled_by=actor, settled_at=timezone.now())
