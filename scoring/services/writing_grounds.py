"""What a text was written from, and whether its item still says so."""

from __future__ import annotations

from annotation.errors import Conflict
from annotation.models import ItemVersion
from scoring.models import WritingRow, WritingRun
from scoring.writing.wording import placeholders

# For an answer that came in a file: whatever its system may have been given.
_OF_A_FILES_ANSWER = frozenset({"question", "reference", "prompt", "lyrics", "clip_id"})
# What another writer has added meanwhile makes a text no worse than it was: several may be at an item at once.
_AIDS = frozenset({"transcript", "rationale"})


def check_unchanged(run: WritingRun, row: WritingRow, current: ItemVersion) -> None:
    """Raises Conflict `version_changed` where a text was written from what the item does not say any more. The caller
    holds the item's lock, without which a version may still be retracted."""
    before = ItemVersion.objects.get(pk=row.item_version_id)
    if before.retracted:
        raise Conflict(
            "It was written for a correction that was taken back. Start a new run for the item.",
            code="version_changed",
        )
    for name in sorted(_grounds(run, row)):
        then, now = getattr(before, name), getattr(current, name)
        was_added = name in _AIDS and name != row.field and not then
        if then != now and not was_added:
            raise Conflict(
                f"The item's {name.removesuffix('_id')} was changed after this was asked for. Start a new run for it.",
                code="version_changed",
            )


def _grounds(run: WritingRun, row: WritingRow) -> frozenset[str]:
    """The field itself, and what the model was given: what its wording asks for, and the sound. A file's texts stand
    for themselves."""
    own = frozenset({row.field} - {""})
    if run.writer_id is None:
        return own or _OF_A_FILES_ANSWER
    return own | placeholders(run.identity.get("prompt", {}).get("ask", "")) | {"clip_id"}
