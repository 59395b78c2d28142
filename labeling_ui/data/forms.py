"""What to do with many rows, as the page asks it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_lazy as look_up
from django.utils.translation import ngettext

from analytics.browse.changes import ACTIONS, MAX_OVERLAP
from analytics.browse.tables import KINDS
from annotation.rating.task_kinds import CHANGEABLE

MOST_ROWS = 1000


class ChangeForm(forms.Form):
    """`action` decides which of the other fields is read; the service reports what is missing."""

    action = forms.ChoiceField(label=_("What to do"))
    reason = forms.CharField(label=_("Reason"), required=False, max_length=40)
    comment = forms.CharField(label=_("What to look at"), required=False, max_length=2000)
    overlap = forms.IntegerField(label=_("Judgments"), required=False, min_value=1, max_value=MAX_OVERLAP)
    kind = forms.ChoiceField(label=_("Kind"), required=False)

    def __init__(self, data: Any, *, table: str) -> None:
        super().__init__(data, auto_id="bulk_%s")
        self.fields["action"].choices = [(key, look_up(label)) for key, label in ACTIONS[table].items()]
        self.fields["kind"].choices = [
            (name, look_up(label)) for name, label, _value in KINDS if name in CHANGEABLE
        ]
        for name in ("overlap", "kind"):
            if name not in ACTIONS[table]:
                del self.fields[name]

    @property
    def ids(self) -> list[int]:
        chosen = self.data.getlist("ids")[:MOST_ROWS]
        return [int(one) for one in chosen if one.isdecimal() and len(one) < 19]

    @property
    def values(self) -> dict[str, Any]:
        return {name: value for name, value in self.cleaned_data.items() if value not in (None, "")}


class SaveViewForm(forms.Form):
    name = forms.CharField(label=_("Name"), max_length=80)
    shared = forms.BooleanField(label=_("Shared with everybody who runs this study"), required=False)


def outcome_text(changed: int, unchanged: int) -> str:
    text = ngettext("%(n)d row is changed.", "%(n)d rows are changed.", changed) % {"n": changed}
    if unchanged:
        left = ngettext("%(n)d stays as it was.", "%(n)d stay as they were.", unchanged) % {"n": unchanged}
        text = f"{text} {left}"
    return text


def reason_text(reason: str, n: int) -> str:
    texts = {
        "kept_out": ngettext(
            "%(n)d judgment stays out: its item was corrected or withdrawn, or its rater has left.",
            "%(n)d judgments stay out: their items were corrected or withdrawn, or their raters have left.",
            n,
        ),
        "without_key": ngettext(
            "%(n)d task has no expected answer: most of its raters must agree first.",
            "%(n)d tasks have no expected answer: most of their raters must agree first.",
            n,
        ),
        "met": ngettext(
            "%(n)d task stays a check: raters have met it as one, and their answers are no votes.",
            "%(n)d tasks stay checks: raters have met them as such, and their answers are no votes.",
            n,
        ),
    }
    return texts[reason] % {"n": n}
