"""When a study stops asking for votes on a pair, in the words and units of its settings page."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from annotation.models import Study
from annotation.protocols import Protocol
from annotation.rules import stopping as rules
from annotation.services.protocols import loaded


class StoppingForm(forms.Form):
    question = forms.ChoiceField(
        label=_("Ask for more votes while this is undecided"), required=False, widget=forms.RadioSelect
    )
    threshold = forms.FloatField(
        label=_("Certainty that decides, in %"),
        required=False,
        min_value=51,
        max_value=100 * rules.MOST_CERTAIN,
        help_text=_(
            "The chance that the majority is right. With 90 %, three votes of three decide, five of six, or six of "
            "eight; a vote for neither is half a vote for each."
        ),
    )
    most = forms.IntegerField(
        label=_("Votes that a pair gets at most"), required=False, max_value=rules.MOST_VOTES
    )

    def __init__(self, data: Any = None, *, study: Study) -> None:
        settings = rules.as_json(study.rules)
        settings["threshold"] = f"{100 * settings['threshold']:g}"
        settings["most"] = settings["most"] or max(9, study.overlap + 2)
        super().__init__(data, initial=settings, auto_id="stopping_%s")
        protocol = loaded(study.protocol_version_id).spec
        keys = rules.eligible_questions(protocol)
        self.compares_pairs = bool(keys)
        self.fields["question"].choices = [
            ("", _("Nothing: every pair gets %(n)d votes") % {"n": study.overlap}),
            *((key, _title(protocol, key)) for key in keys),
        ]
        self.fields["most"].min_value = study.overlap + 1
        self.fields["most"].widget.attrs["min"] = study.overlap + 1
        self.overlap = study.overlap

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        threshold, most = cleaned.get("threshold"), cleaned.get("most")
        for name in ("threshold", "most"):
            if cleaned.get("question") and cleaned.get(name, "") is None:
                self.add_error(name, self.fields[name].error_messages["required"])
        if most is not None and most <= self.overlap:
            text = _("Give more than the %(n)d that every pair gets first.") % {"n": self.overlap}
            self.add_error("most", text)
        elif most is not None and threshold and most < rules.least_to_decide(threshold / 100):
            needed = rules.least_to_decide(threshold / 100)
            text = _(
                "So few votes are never so certain, even if all agree: give %(n)d or more, or a lower chance."
            )
            self.add_error("most", text % {"n": needed})
        return cleaned

    def wanted(self) -> dict[str, Any]:
        """The settings as the rule takes them; numbers that a rule switched off left empty stay as they were."""
        given = {name: value for name, value in self.cleaned_data.items() if value is not None}
        if "threshold" in given:
            given["threshold"] = round(given["threshold"] / 100, 6)
        return given


def _title(protocol: Protocol, key: str) -> str:
    question = protocol.question(key)
    assert question is not None  # eligible questions are the protocol's own
    return question.title.in_language(get_language() or "en")
