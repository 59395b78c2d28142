"""What a report calls kinds of questions, levels of measurement, and lists."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import get_language
from django.utils.translation import gettext as _


def kind_word(kind: str) -> str:
    words = {
        "preference": _("preference"),
        "rating": _("rating"),
        "correctness": _("correctness"),
    }
    return words.get(kind, kind)


def level_word(level: str) -> str:
    words = {
        "nominal": _("nominal"),
        "ordinal": _("ordinal"),
        "interval": _("interval"),
        "ratio": _("ratio"),
    }
    return words.get(level, level)


def numbers(values: Sequence[float]) -> str:
    """1, 2, 3 – from four whole numbers in a row on, 1–5."""
    if len(values) > 3 and list(values) == [values[0] + step for step in range(len(values))]:
        return f"{values[0]:g}–{values[-1]:g}"
    return ", ".join(f"{value:g}" for value in values)


def sentences(parts: Sequence[str]) -> str:
    """One paragraph. Chinese has no space between sentences."""
    return ("" if (get_language() or "").startswith("zh") else " ").join(part for part in parts if part)
