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
