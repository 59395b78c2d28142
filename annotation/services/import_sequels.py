"""What follows upon an import, in its transaction. Annotation knows of none: other apps add theirs when they start."""

from __future__ import annotations

from django.utils.module_loading import import_string

from annotation.models import Study, User

# Dotted names of functions of (study, actor=).
SEQUELS: list[str] = []


def set_going(study: Study, *, actor: User | None) -> None:
    for name in SEQUELS:
        import_string(name)(study, actor=actor)
