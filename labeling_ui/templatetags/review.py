"""The review desk's words in templates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils.functional import Promise

from labeling_ui import review_words

register = template.Library()
register.filter("rule_title", review_words.rule_title)
register.filter("evidence_lines", review_words.evidence_lines)


@register.filter
def field_title(field: str) -> Promise | str:
    return review_words.FIELDS.get(field, field)


@register.filter
def reason_title(reason: str) -> Promise | str:
    return review_words.REASONS.get(reason, reason)


@register.filter
def evidence_value(value: Any) -> str:
    """A number without more digits than anybody reads; of tables and lists what they hold."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {evidence_value(part)}" for name, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(evidence_value(part) for part in value)
    if isinstance(value, float):
        return f"{value:.3g}".replace("-", "−")
    return str(value)


@register.filter
def answer_title(said: str | float) -> Promise | str:
    """A choice in words, a number as people write it, a text as it is."""
    return f"{said:g}" if isinstance(said, float) else review_words.CHOICES.get(said, said)


@register.filter
def exclusion_title(reason: str) -> Promise | str:
    return review_words.EXCLUSIONS.get(reason, reason)
