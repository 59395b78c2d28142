"""With what a report is made."""

from __future__ import annotations

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from analytics.services.report_jobs import INTERVALS, MOST_REPLICATES, MOST_SEED

TITLES = {
    "jackknife": _("Jackknife over units"),
    "units": _("Bootstrap over units"),
    "items": _("Bootstrap over prompts"),
}


class ReportForm(forms.Form):
    interval = forms.ChoiceField(
        label=_("Interval of alpha"),
        help_text=_("The jackknife covers as often as it says; over prompts where their units are alike."),
        choices=[(key, TITLES[key]) for key in INTERVALS],
    )
    replicates = forms.IntegerField(
        label=_("Bootstrap replicates"),
        help_text=_("1,000 are enough for two digits."),
        min_value=1,
        max_value=MOST_REPLICATES,
    )
    seed = forms.IntegerField(
        label=_("Seed"),
        help_text=_("The same seed gives the same report."),
        min_value=0,
        max_value=MOST_SEED,
    )
    language = forms.ChoiceField(
        label=_("Language of the report"),
        help_text=_("Of its words, not of yours."),
        choices=settings.LANGUAGES,
    )
