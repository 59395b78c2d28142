"""What in a corrected item differs from what it was, and what cannot be corrected so."""

from __future__ import annotations

import re
from collections.abc import Mapping

from annotation.rules.answers import Problem
from annotation.rules.review import CORRECTABLE, REASONS

# Without these an item asks nothing, or nothing that can be judged.
NEVER_EMPTY = ("question", "reference", "prompt")
MAX_LENGTH = 100_000
# What PostgreSQL stores in no text: zero bytes and lone surrogates, which JSON can spell.
_NO_TEXT = re.compile("[\x00\ud800-\udfff]")


def clean(text: str) -> str:
    """As it is stored: blanks at the ends say nothing, and browsers send two characters for a new line."""
    return text.replace("\r\n", "\n").strip()


def changes(before: Mapping[str, str], texts: Mapping[str, str]) -> dict[str, str]:
    """The new texts of the fields that changed, in the order of the desk."""
    return {
        name: clean(texts[name])
        for name in CORRECTABLE
        if name in texts and clean(texts[name]) != clean(before[name])
    }


def faults(before: Mapping[str, str], texts: Mapping[str, str], *, reason: str) -> list[Problem]:
    """Every fault of a correction that somebody wants, each with the name of its field."""
    found = []
    if reason not in REASONS:
        found.append(Problem("reason", f"Choose one of {', '.join(REASONS)}."))
    for name, text in texts.items():
        if name not in CORRECTABLE:
            found.append(Problem(f"texts.{name}", f"Only {', '.join(CORRECTABLE)} can be corrected."))
        elif _NO_TEXT.search(text):
            found.append(
                Problem(f"texts.{name}", "Remove zero bytes and half characters; no text holds them.")
            )
        elif len(text) > MAX_LENGTH:
            found.append(Problem(f"texts.{name}", f"Write at most {MAX_LENGTH} characters."))
        elif name in NEVER_EMPTY and not clean(text) and clean(before[name]):
            found.append(
                Problem(f"texts.{name}", "An item cannot do without it: write one, or withdraw the item.")
            )
    return found
