"""What changed between two texts, for templates."""

from __future__ import annotations

from django import template

from labeling_ui.word_diff import Piece, pieces

register = template.Library()


@register.filter
def word_diff(before: str, after: str) -> list[Piece]:
    return pieces(before, after)
