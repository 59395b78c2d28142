"""AI drafts for the review desk: asked for, and what became of them. They wait for nobody and block nothing: a case is
decided with a draft, without it, or before it has come."""

from __future__ import annotations

from dataclasses import dataclass

from annotation.models import Draft, ReviewCase, Study, User
from scoring.models import Writer


@dataclass(frozen=True)
class DraftOutcomes:
    """What became of one writer's drafts of one field of a study's items. `writer` is its name when it wrote."""

    writer: str
    field: str
    waiting: int = 0
    proposed: int = 0
    accepted: int = 0
    edited: int = 0
    rejected: int = 0
    unused: int = 0
    failed: int = 0

    @property
    def settled(self) -> int:
        """Drafts that a person decided about."""
        return self.accepted + self.edited + self.rejected + self.unused

    @property
    def accepted_unedited(self) -> float | None:
        """The share of the settled ones that were accepted as they were; None where none is settled."""
        return self.accepted / self.settled if self.settled else None


def offer(case: ReviewCase, *, actor: User | None) -> list[Draft]:
    """Ask each of the study's writers that drafts by itself for one draft of its field, in the caller's transaction.

    Those that have a draft for this version of the item in this case already are passed over, so that it may be called
    whenever the desk is opened. Returns the new ones, WAITING.
    """
    raise NotImplementedError


def request(case: ReviewCase, writer: Writer, *, actor: User | None, note: str = "") -> Draft:
    """Ask one writer for a draft of its field, WAITING until a worker comes to it. `note`: what the expert tells the
    model beside the item, 2,000 characters at most.

    Raises InvalidInput for a writer of another study, one that writes answers or is retired, or a note that is too
    long; Conflict `draft_waiting` where its last draft for this case has not come yet, and `resolved` where the case is
    decided.
    """
    raise NotImplementedError


def writers_for(case: ReviewCase) -> list[Writer]:
    """The writers whose drafts an expert can ask for in this case, by field and name."""
    raise NotImplementedError


def draft_outcomes(study: Study) -> list[DraftOutcomes]:
    """What became of all drafts of a study, by writer and field."""
    raise NotImplementedError
