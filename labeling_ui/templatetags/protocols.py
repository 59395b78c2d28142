"""Protocol texts in templates: in the reader's language, and as formatted text."""

from __future__ import annotations

from django import template
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from annotation.protocols.schema import Text
from labeling_ui import markdown

register = template.Library()


@register.filter
def in_language(text: Text) -> str:
    """A protocol's text in the language of this page; English where it has no other."""
    return text.in_language(get_language() or "en")


@register.filter
def formatted(text: str) -> SafeString:
    return mark_safe(markdown.to_html(text))  # it escapes first: see labeling_ui.markdown


@register.filter
def plainly(value: float) -> str:
    """A scale's number as people write it: 3, not 3.0."""
    return f"{value:g}"
