"""What experts decide about a case: fine as it is, corrected, or its item withdrawn.

Each begins with the claim (`cases.held`) and stands only once the expert has judged blind. Conflicts, by code:
`not_judged`, `item_withdrawn`, `version_changed` (the item was corrected meanwhile), `nothing_changed`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from annotation.models import ItemVersion, ReviewCase, User


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


def fine(user: User, case_id: int, *, comment: str = "") -> ReviewCase:
    """Settle a case: the item is good as it is, and its judgments stand."""
    raise NotImplementedError


def correct(user: User, case_id: int, corrections: Corrections) -> ItemVersion:
    """Settle a case by a new version of its item, with one Correction for each field that changed."""
    raise NotImplementedError


def withdraw(user: User, case_id: int, *, comment: str) -> ReviewCase:
    """Settle a case by taking its item out of the study. The comment says why; one is required."""
    raise NotImplementedError
