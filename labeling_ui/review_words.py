"""What the review desk's pages call things: the rules that make cases, the fields of an item, why one was corrected."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

# Rule key: what it is called in the queue, and what it looks for.
RULES: dict[str, tuple[Promise, Promise]] = {
    "codes": (
        _("Feedback codes"),
        _("Raters marked the item itself with one of the codes you choose."),
    ),
    "disagreement": (
        _("Disagreement"),
        _("Ratings of one answer lie far apart, or votes on one pair are split."),
    ),
    "low_confidence": (
        _("Low confidence"),
        _("Raters answered, but were unsure of it."),
    ),
    "model_conflict": (
        _("Model against people"),
        _("A model’s score says something else than the raters do."),
    ),
    "failed_gold": (
        _("Failed gold"),
        _("Many raters failed a task whose answer is known: its key may be wrong."),
    ),
    "unannotated": (
        _("Not annotated"),
        _("Nobody has judged the item after a while."),
    ),
    "audit": (
        _("Random audit"),
        _("A share of the finished items, drawn at random: it shows what the other rules miss."),
    ),
}

FIELDS: dict[str, Promise] = {
    "question": _("Question"),
    "reference": _("Reference answer"),
    "rationale": _("Rationale"),
    "transcript": _("Transcript"),
    "prompt": _("Prompt"),
    "lyrics": _("Lyrics"),
}

REASONS: dict[str, Promise] = {
    "incomplete": _("Incomplete"),
    "wrong": _("Wrong"),
    "insufficient": _("Cannot be answered from what is heard"),
    "ambiguous": _("Ambiguous"),
    "wording": _("Wording"),
    "other": _("Other"),
}


def rule_title(rule: str) -> Promise | str:
    """A rule's name for people; its key where it has none."""
    return RULES[rule][0] if rule in RULES else rule
