"""Whether raters see what a model says, in the words and units of its settings page."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import Study
from annotation.rules import hints as rules
from annotation.services.protocols import loaded
from labeling_ui.run_lines import title_of
from scoring.services import hints


class HintsForm(forms.Form):
    scorer = forms.ChoiceField(
        label=_("Show raters what a model says"), required=False, widget=forms.RadioSelect
    )
    withheld = forms.FloatField(
        label=_("Share of tasks where it is kept from the rater, in %"),
        required=False,
        min_value=100 * rules.LEAST_WITHHELD,
        max_value=100 * rules.MOST_WITHHELD,
        help_text=_("Drawn at random for each rater and task. It tells what showing does to the answers."),
    )

    def __init__(self, data: Any = None, *, study: Study) -> None:
        settings = rules.as_json(study.rules)
        super().__init__(
            data, initial={**settings, "withheld": f"{100 * settings['withheld']:g}"}, auto_id="hints_%s"
        )
        self.can_be_shown = bool(rules.eligible_questions(loaded(study.protocol_version_id).spec))
        offered = [("", _("Nothing: raters judge for themselves")), *_scorers(study)]
        if settings["scorer"] not in dict(offered):  # of a model that is gone: shown, not dropped
            offered.append((settings["scorer"], settings["scorer"]))
        self.has_scorers = len(offered) > 1
        self.fields["scorer"].choices = offered

    def clean_withheld(self) -> float | None:
        share: float | None = self.cleaned_data["withheld"]
        if share is None and self.cleaned_data.get("scorer"):
            raise forms.ValidationError(self.fields["withheld"].error_messages["required"])
        return share

    def wanted(self, study: Study) -> dict[str, Any]:
        """The settings as the rule takes them; a share left empty stays as it was."""
        share = self.cleaned_data["withheld"]
        before = rules.as_json(study.rules)["withheld"]
        return {
            "scorer": self.cleaned_data["scorer"],
            "withheld": before if share is None else round(share / 100, 6),
        }


def _scorers(study: Study) -> list[tuple[str, str]]:
    """By name, which stands for the version that counts; where there are several, each of them as well."""
    versions = hints.voices(study)
    names = Counter(scorer.key for scorer in versions)
    several = [scorer for scorer in versions if names[scorer.key] > 1]
    return [
        *((key, title_of(key)) for key in names),
        *((one.digest, f"{title_of(one.key)} · {one.digest[:8]}") for one in several),
    ]
