"""Asking for a training: the settings of a kind of model, how its votes are split, and how often it is repeated."""

from __future__ import annotations

from django import forms
from django.http import QueryDict
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from analytics.services.learned_comparison_jobs import scorers_of
from analytics.services.training_jobs import HELD_OUT_RATERS, MOST_HELD_OUT, MOST_REPEATS
from analytics.services.training_material import GROUPS, SYSTEMS, learnable
from annotation.errors import DomainError
from annotation.models import Study
from labeling_ui.forms.scoring import OptionsForm
from labeling_ui.sentences import said
from scoring.training.catalogue import Learns, Trainable

_MOST_SCORERS = 50


class PlanForm(forms.Form):
    """What is learned where there is a choice, what is held out, and how often. The share of raters is asked for in per
    cent."""

    question = forms.ChoiceField(
        label=_("Question whose ratings it learns"),
        help_text=_("It foretells how people would answer this one."),
    )
    split = forms.ChoiceField(
        label=_("Held out for its figures"),
        help_text=_(
            "It learns nothing from what is held out. Versions are compared on what all of them held out."
        ),
        choices=[
            (GROUPS, _("Prompts or questions, with all that was judged about them")),
            (SYSTEMS, _("Systems, so that it is tried on systems it has not met")),
        ],
    )
    holdout_raters = forms.FloatField(
        label=_("Raters held out as well, per cent"),
        help_text=_("So that figures tell how it does for people it has not met. 0: none."),
        min_value=0,
        max_value=100 * MOST_HELD_OUT,
        initial=f"{100 * HELD_OUT_RATERS:g}",
        widget=forms.NumberInput({"step": "any"}),
    )
    repeats = forms.IntegerField(
        label=_("Trainings"),
        help_text=_(
            "Each on another split and from another seed: figures then come with a standard deviation. The first is "
            "the version that is kept. Papers repeat it five times."
        ),
        min_value=1,
        max_value=MOST_REPEATS,
        initial=1,
    )
    pseudo = forms.MultipleChoiceField(
        label=_("Scorers whose scores are learned from first"),
        help_text=_(
            "Before people’s votes; nothing that is held out is among it. None ticked: people alone."
        ),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, study: Study, entry: Trainable, data: QueryDict | None = None) -> None:
        super().__init__(data, prefix="plan")
        asked = learnable(study, entry.name, language=get_language() or "en")
        if entry.learns is Learns.RATINGS and len(asked) > 1:
            self.fields["question"].choices = [(one.key, one.title) for one in asked]
        else:
            del self.fields["question"]
        scorers = scorers_of(study).order_by("key", "pk")[:_MOST_SCORERS]
        self.fields["pseudo"].choices = [(f"{one.key}@{one.digest}", str(one)) for one in scorers]

    def clean_holdout_raters(self) -> float:
        share: float = self.cleaned_data["holdout_raters"] / 100
        return share


def refuse(options: OptionsForm, plan: PlanForm, error: DomainError) -> None:
    """Show what the service refused: each problem beside its field, what has none above the form."""
    if not error.problems:
        options.add_error(None, said(error))
    for problem in error.problems:
        group, _dot, name = problem.field.rpartition(".")
        form: forms.Form = options if group == "options" else plan
        sentence = f"{problem.message} {problem.remedy}".strip()
        (form if name in form.fields else options).add_error(name if name in form.fields else None, sentence)
