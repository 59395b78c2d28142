"""Requests for AI drafts at the review desk, and their outcomes."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction
from django.db.models import Count, Q

from annotation.errors import Conflict, InvalidInput
from annotation.models import Draft, ReviewCase, Study, User
from annotation.review import drafts
from scoring.models import Writer, WritingRow, WritingRun
from scoring.runs.engine import sanitize_text
from scoring.writing import writing_runs

NOTE_LENGTH = 2_000


@dataclass(frozen=True)
class DraftOutcomes:
    """Counts of one writer's drafts of one field of a study's items, by outcome. `writer` is its name when it wrote;
    `late` ones had not come when their case was decided."""

    writer: str
    field: str
    waiting: int = 0
    proposed: int = 0
    accepted: int = 0
    edited: int = 0
    rejected: int = 0
    unused: int = 0
    late: int = 0
    failed: int = 0

    @property
    def settled(self) -> int:
        """Drafts that a person decided about, having seen them."""
        return self.accepted + self.edited + self.rejected + self.unused

    @property
    def accepted_unedited(self) -> float | None:
        """The share of the settled ones that were accepted as they were; None where none is settled."""
        return self.accepted / self.settled if self.settled else None


@transaction.atomic
def request_automatic_drafts(case: ReviewCase, *, actor: User | None) -> list[Draft]:
    """Ask each of the study's writers that drafts by itself for one draft of its field, in the caller's transaction.

    Those that have a draft for this version of the item in this case already are passed over, so that it may be called
    whenever the desk is opened. Returns the new ones, WAITING; none for a case that is settled.
    """
    if case.state == ReviewCase.State.RESOLVED:
        return []
    requested = Draft.objects.filter(case=case, item_version_id=case.item_version_id)
    had = set(requested.values_list("field", "writer"))
    automatic = [writer for writer in writers_for(case) if writer.drafts]
    new = [writer for writer in automatic if (writer.writes, writer.name) not in had]
    return [_create_draft_run(case, writer, actor=actor, note="") for writer in new]


@transaction.atomic
def request_draft(case: ReviewCase, writer: Writer, *, actor: User | None, note: str = "") -> Draft:
    """Ask one writer for a draft of its field, WAITING until a worker comes to it. `note`: what the expert tells the
    model beside the item, 2,000 characters at most.

    Raises InvalidInput for a writer of another study, one that writes answers or is retired, or a note that is too
    long; Conflict `draft_waiting` where its last draft for this case has not come yet, and `resolved` where the case is
    decided.
    """
    if writer not in writers_for(case):
        message = f"{writer.name} writes no drafts in this study."
        raise InvalidInput.of_field("writer", message, "Choose another.")
    if len(note) > NOTE_LENGTH:
        raise InvalidInput.of_field("note", f"It has {len(note):,} characters; {NOTE_LENGTH:,} are the most.")
    return _create_draft_run(case, writer, actor=actor, note=note)


def writers_for(case: ReviewCase) -> list[Writer]:
    """The writers whose drafts an expert can ask for in this case, by field and name."""
    writers = Writer.objects.filter(study_id=case.study_id, retired=False, system=None)
    return list(
        writers.exclude(writes=Writer.Writes.ANSWER).select_related("study").order_by("writes", "name")
    )


def draft_outcomes(study: Study) -> list[DraftOutcomes]:
    """The outcomes of all drafts of a study, by writer and field."""
    grouped = Draft.objects.filter(case__study=study).values("writer", "field")
    outcomes = (*Draft.State.values, drafts.LATE)
    counts = {str(outcome): Count("pk", filter=Q(outcome=outcome)) for outcome in outcomes}
    rows = grouped.alias(outcome=drafts.OUTCOME).annotate(**counts).order_by("field", "writer")
    return [DraftOutcomes(**row) for row in rows.values("writer", "field", *counts)]


def _create_draft_run(case: ReviewCase, writer: Writer, *, actor: User | None, note: str) -> Draft:
    draft = drafts.request_draft(case, field=writer.writes, writer=writer.name, actor=actor)
    if WritingRow.objects.filter(draft=draft).exists():
        raise Conflict(f"{writer.name} is at this already; its draft comes by itself.", code="draft_waiting")
    wish = {"note": sanitize_text(note.strip())} if note.strip() else {}
    run = writing_runs.create(
        writer, WritingRun.Purpose.DRAFTS, filter=wish, publishes=False, actor=actor, n_rows=1
    )
    WritingRow.objects.create(run=run, item_version_id=draft.item_version_id, field=draft.field, draft=draft)
    return draft
