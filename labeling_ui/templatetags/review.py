"""The review desk's words in templates."""

from __future__ import annotations

from django import template
from django.utils.functional import Promise

from labeling_ui import review_words

register = template.Library()
register.filter("rule_title", review_words.rule_title)


@register.filter
def field_title(field: str) -> Promise | str:
    return review_words.FIELDS.get(field, field)


@register.filter
def reason_title(reason: str) -> Promise | str:
    return review_words.REASONS.get(reason, reason)
