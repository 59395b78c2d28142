"""The review desk's words in templates."""

from __future__ import annotations

from django import template

from annotation.review import labels
from labeling_ui.review.word_diff import diff_words

register = template.Library()

register.filter("rule_title", labels.rule_title)
register.filter("word_diff", diff_words)
register.filter("field_title", lambda field: labels.FIELD_LABELS.get(field, field))
register.filter("reason_title", lambda reason: labels.CORRECTION_REASON_LABELS.get(reason, reason))
register.filter("exclusion_title", lambda reason: labels.EXCLUSION_REASON_LABELS.get(reason, reason))
