"""Taking items out of a study, and back in."""

from __future__ import annotations

from annotation.models import Item, User


def withdraw_item(item: Item, *, reason: str, actor: User | None) -> None:
    """Take an item out: its tasks are handed out no more, and its judgments leave the count (`item_withdrawn`).

    Votes on their way are kept as surplus. `reason` is a sentence for the log. Raises Conflict `item_withdrawn` when
    it is out already.
    """
    raise NotImplementedError


def bring_back(item: Item, *, actor: User | None) -> None:
    """Undo a withdrawal: the item, its tasks, and the judgments that went with it."""
    raise NotImplementedError
