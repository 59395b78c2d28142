"""The review desk's words in templates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils.functional import Promise

from annotation.review import labels
from labeling_ui.review.word_diff import diff_words

register = template.Library()

register.filter("rule_title", labels.rule_title)
register.filter("evidence_lines", labels.evidence_lines)
register.filter("word_diff", diff_words)
register.filter("field_title", lambda field: labels.FIELD_LABELS.get(field, field))
register.filter("reason_title", lambda reason: labels.CORRECTION_REASON_LABELS.get(reason, reason))
register.filter("exclusion_title", lambda reason: labels.EXCLUSION_REASON_LABELS.get(reason, reason))


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
def answer_title(answer: str | float) -> Promise | str:
    """A choice in words, a number as people write it, a text as it is."""
    return f"{answer:g}" if isinstance(answer, float) else labels.CHOICE_LABELS.get(answer, answer)
