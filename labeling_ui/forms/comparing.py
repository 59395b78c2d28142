"""Which versions, and which scorers beside them, a comparison is of."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from analytics.reports.learned.held_out import version_name
from analytics.services import learned_comparison_jobs
from annotation.models import Study
from scoring.models import LearnedModel

# Older versions, and scorers of more runs than anybody compares, are reached through the API.
_MOST_LISTED = 50


class ComparisonForm(forms.Form):
    versions = forms.TypedMultipleChoiceField(
        label=_("Versions"),
        help_text=_(
            "One is evaluated by itself; several are compared on the items that all of them held out."
        ),
        coerce=int,
        widget=forms.CheckboxSelectMultiple,
    )
    scorers = forms.TypedMultipleChoiceField(
        label=_("Other scorers beside them"),
        help_text=_("On the same items, where they have scored them."),
        coerce=int,
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    language = forms.ChoiceField(
        label=_("Language of the report"),
        help_text=_("Of its words, not of yours."),
        choices=settings.LANGUAGES,
    )

    def __init__(self, study: Study, data: Any = None, initial: Any = None) -> None:
        super().__init__(data, initial=initial)
        versions = learned_comparison_jobs.comparable(study)[:_MOST_LISTED]
        scorers = learned_comparison_jobs.scorers_of(study).order_by("key", "pk")[:_MOST_LISTED]
        self.fields["versions"].choices = [(model.pk, _label(model)) for model in versions]
        self.fields["scorers"].choices = [(scorer.pk, str(scorer)) for scorer in scorers]


def _label(model: LearnedModel) -> str:
    name = version_name(model)
    return gettext("%(version)s, promoted") % {"version": name} if model.promoted_at else name
