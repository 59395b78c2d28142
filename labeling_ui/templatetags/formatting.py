"""Numbers in templates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from analytics.reports.render import durations
from annotation.protocols.schema import Text
from labeling_ui import markdown

register = template.Library()

register.filter("lapse", durations.duration)


@register.filter
def count(n: object) -> str:
    """12,345; a dash where nothing was counted."""
    return f"{n:,}" if isinstance(n, int) else "–"


@register.filter
def decimals(value: float | None, places: int = 3) -> str:
    """0.820, with a real minus sign; a dash for a figure that is not defined."""
    return "–" if value is None else f"{value:.{places}f}".replace("-", "−")


@register.filter
def percent(share: float | None) -> str:
    """41.5 % of a share from 0 to 1."""
    return "–" if share is None else f"{100 * share:.1f}\u00a0%"


@register.filter
def plain(value: float) -> str:
    """3, not 3.0; no thousands and no comma in any language, for attributes of a drawing too."""
    return f"{value:g}"


# Looking things up in templates.


@register.filter
def of(table: Mapping[str, Any], key: str) -> Any:
    """What a table holds under a name; nothing where it has no such name."""
    return table.get(key)


@register.filter
def pairs(table: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Names in order, and what they hold.

    For tables that may hold something called `items`, which a template would take for the method.
    """
    return sorted(table.items())


# Protocol texts in templates: in the reader's language, and as formatted text.


@register.filter
def in_language(text: Text) -> str:
    """A protocol's text in the language of this page; English where it has no other."""
    return text.in_language(get_language() or "en")


@register.filter
def formatted(text: str) -> SafeString:
    return mark_safe(markdown.to_html(text))  # it escapes first: see labeling_ui.markdown
