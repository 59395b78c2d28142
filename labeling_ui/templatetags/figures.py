"""Numbers in templates."""

from __future__ import annotations

from django import template

from labeling_ui import pace

register = template.Library()
register.filter("lapse", pace.lapse)


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
    """For attributes of a drawing: no thousands, no comma in any language."""
    return f"{value:g}"
