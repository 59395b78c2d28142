"""What follows upon a new version of an item, in its transaction. Annotation knows of none: other apps add theirs."""

from __future__ import annotations

from django.utils.module_loading import import_string

from annotation.models import ItemVersion, User

# Dotted names of functions of (version, rewrite=, actor=). `rewrite`: answers are wanted anew, not carried over.
SEQUELS: list[str] = []


def set_going(version: ItemVersion, *, rewrite: bool, actor: User | None) -> None:
    for name in SEQUELS:
        import_string(name)(version, rewrite=rewrite, actor=actor)
