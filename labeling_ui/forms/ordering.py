"""Which tasks come first, in the words and units of a study's settings page."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import Study
from annotation.rules import ordering as rules
from labeling_ui.run_lines import title_of
from scoring.models import LearnedModel, ScoringRun

PLAIN, TAUGHT = "", "policy"


class OrderingForm(forms.Form):
    order = forms.ChoiceField(
        label=_("Which task comes next"),
        required=False,
        widget=forms.RadioSelect,
        choices=[
            (PLAIN, _("The next one on the rater’s way through the shuffled list")),
            (TAUGHT, _("One on which a vote would teach a model most")),
        ],
    )
    uniform = forms.FloatField(
        label=_("Share of tasks drawn from all that are open, in %"),
        required=False,
        min_value=100 * rules.LEAST_UNIFORM,
        max_value=100,
        help_text=_(
            "All of them almost equally likely, whatever a model says of them. Never less than a fifth."
        ),
    )
    among = forms.IntegerField(
        label=_("The others are drawn from the first"),
        required=False,
        min_value=rules.LEAST_AMONG,
        max_value=rules.MOST_AMONG,
        help_text=_("So many tasks. With few, raters at work at the same time get the same ones."),
    )
    uncertainty = forms.FloatField(
        label=_("Weight of what the model is unsure of"),
        required=False,
        min_value=0,
        max_value=rules.MOST_WEIGHT,
    )
    disagreement = forms.FloatField(
        label=_("Weight of where votes so far contradict the model"),
        required=False,
        min_value=0,
        max_value=rules.MOST_WEIGHT,
    )
    coverage = forms.FloatField(
        label=_("Weight of having few judgments yet"),
        required=False,
        min_value=0,
        max_value=rules.MOST_WEIGHT,
    )
    scorer = forms.ChoiceField(label=_("The model"), required=False, widget=forms.RadioSelect)

    def __init__(self, data: Any = None, *, study: Study) -> None:
        settings = rules.as_json(study.rules)
        initial = {
            **settings,
            "order": TAUGHT if settings["on"] else PLAIN,
            "uniform": f"{100 * settings['uniform']:g}",
            **{name: f"{settings[name]:g}" for name in rules.WEIGHTS},
        }
        super().__init__(data, initial=initial, auto_id="ordering_%s")
        self.is_shuffled = study.order == Study.Order.SHUFFLED
        offered = [("", _("The one that was made this study’s scorer, if any")), *_scorers(study)]
        if settings["scorer"] not in dict(offered):  # a version, or a model that is gone: shown, not dropped
            offered.append((settings["scorer"], settings["scorer"]))
        self.fields["scorer"].choices = offered

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("order") == TAUGHT:
            for name in ("uniform", "among", *rules.WEIGHTS):
                if cleaned.get(name, "") is None:
                    self.add_error(name, self.fields[name].error_messages["required"])
            weights = [cleaned.get(name) for name in rules.WEIGHTS]
            if weights == [0.0] * len(weights):
                self.add_error("uncertainty", _("Give at least one of the three a weight above 0."))
        return cleaned

    def wanted(self) -> dict[str, Any]:
        """The settings as the policy takes them."""
        on = self.cleaned_data["order"] == TAUGHT
        if not on:
            return {"on": False}
        given = {name: self.cleaned_data[name] for name in rules.NAMES}
        return {"on": True, **given, "uniform": round(given["uniform"] / 100, 6)}


def _scorers(study: Study) -> list[tuple[str, str]]:
    """By name, which stands for the version that counts in the study."""
    scored = ScoringRun.objects.filter(study=study, scorer__isnull=False).values_list(
        "scorer__key", flat=True
    )
    learned = LearnedModel.objects.filter(study=study, scorer__isnull=False).values_list("kind", flat=True)
    return [(key, title_of(key)) for key in sorted({*scored.distinct(), *learned.distinct()})]
