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


# What a rule measured, as the page of a case and an item's history name it.
EVIDENCE: dict[str, Promise] = {
    "codes": _("codes"),
    "n_raters": _("raters"),
    "n_ratings": _("ratings"),
    "n_votes": _("votes"),
    "n_answers": _("answers"),
    "n_failed": _("failed it"),
    "n_skips": _("skipped it"),
    "variance": _("variance"),
    "variance_on_5": _("variance, as on 1 to 5"),
    "minority": _("share of the minority"),
    "mean": _("mean"),
    "mean_on_5": _("mean, as on 1 to 5"),
    "difference": _("difference"),
    "question": _("question"),
    "system": _("system"),
    "scorer": _("model"),
    "output": _("output"),
    "share": _("share"),
}

# What a choice says; ratings and texts speak for themselves.
CHOICES: dict[str, Promise] = {
    "first": _("first"),
    "second": _("second"),
    "tie": _("tie"),
    "both_bad": _("both bad"),
}

# Reasons that the software gives itself for setting judgments aside.
EXCLUSIONS: dict[str, Promise] = {
    "item_corrected": _("The item was corrected."),
    "item_withdrawn": _("The item was withdrawn."),
    "correction_undone": _("The correction was taken back."),
    "withdrawal_undone": _("The withdrawal was taken back."),
}
