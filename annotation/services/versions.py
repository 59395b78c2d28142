"""New versions of items, and what becomes of the candidates and tasks of the version before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotation.models import Candidate, Item, ItemVersion, System, User


def make(item: Item, changes: Mapping[str, str], *, actor: User | None, carry: bool = True) -> ItemVersion:
    """The next version of an item: its current one with these texts in place of its own.

    With `carry` its answers are carried over and its tasks with them: those that nobody has met move to the new
    version, the others are withdrawn and replaced (`Task.replaces`; same overlap, kind, gold keys and place in the
    queue). Without, no answer is carried over and all its tasks are withdrawn; each comes back when `add_answer` has
    brought what it shows. Judgments of the version before leave the count, with the reason `item_corrected`.

    The caller is in a transaction and holds the item's lock (`lock_item`).
    """
    raise NotImplementedError


def add_answer(
    version: ItemVersion, system: System, text: str, *, provenance: Mapping[str, Any]
) -> Candidate:
    """An answer that a system gave to this version, and the tasks that were waiting for it or that it makes possible.

    Where the protocol asks about one candidate, an answer without a task gets one. The same text of the same system is
    added once. Raises Conflict `version_changed` once the item has a later version, `item_withdrawn`.
    """
    raise NotImplementedError


def carry_over(version: ItemVersion, systems: list[System], *, actor: User | None) -> list[Candidate]:
    """Bring the answers of these systems from the version before after all: of those that nobody writes anew."""
    raise NotImplementedError
