"""Changing how a study reviews: its rules, and how cases are worked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotation.models import Study, User


def change(
    study: Study, *, actor: User | None, flags: Mapping[str, Mapping[str, Any]] | None = None, **wanted: Any
) -> Study:
    """Change some settings (`ReviewSettings`' names) and some of the rules (`flags`: {rule: {name: value}}).

    What is not named stays. New rules hold for all of the study's votes: the next sweep looks at all of them. Cases
    that are open stay open. Raises InvalidInput with every fault (`flags.codes.min_raters`), and changes nothing then.
    """
    raise NotImplementedError
