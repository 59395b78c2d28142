"""Looking things up in templates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template

register = template.Library()


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
