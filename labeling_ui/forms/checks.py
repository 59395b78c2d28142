"""Which listening checks a study requires."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import ListeningCheck, Study
from annotation.rules.listening_checks import BOUNDS
from annotation.services import listening_checks


class ChecksForm(forms.Form):
    require = forms.MultipleChoiceField(
        label=_("Before the work, raters"),
        required=False,
        choices=[
            (ListeningCheck.Kind.LEVEL, _("set the volume with a noise at -23 LUFS")),
            (ListeningCheck.Kind.LEFT_RIGHT, _("tell left from right (4 of 4)")),
            (
                ListeningCheck.Kind.ANTIPHASE,
                _("find the quietest of three tones, one of them antiphase (5 of 6)"),
            ),
            (ListeningCheck.Kind.HUGGINS, _("find a tone that only headphones let through (5 of 6)")),
        ],
        help_text=_(
            "The two last ones tell headphones from loudspeakers; together they are stricter than either."
        ),
        widget=forms.CheckboxSelectMultiple,
    )
    gate = forms.BooleanField(
        label=_("Only raters who pass may work"),
        required=False,
        help_text=_("Otherwise the result is noted with the rater, and the work goes on."),
    )
    valid_hours = forms.IntegerField(
        label=_("Hours until a check is due again"),
        min_value=BOUNDS["valid_hours"][0],
        max_value=BOUNDS["valid_hours"][1],
    )
    recheck_minutes = forms.IntegerField(
        label=_("Minutes of work until a check is due again"),
        min_value=BOUNDS["recheck_minutes"][0],
        max_value=BOUNDS["recheck_minutes"][1],
        help_text=_("0 leaves it to the hours."),
    )

    @staticmethod
    def initial_of(study: Study) -> dict[str, Any]:
        return listening_checks.settings_of(study)
