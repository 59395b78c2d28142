"""What a researcher says of a release, and of a rater who wants to be taken out."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from analytics.releases.wishes import Wishes
from annotation.models import RaterWithdrawal


class ReleaseForm(forms.Form):
    note = forms.CharField(
        label=_("What it is for"),
        required=False,
        max_length=2000,
        help_text=_("Stands in its card, such as “the data of our paper”."),
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    audio = forms.ChoiceField(
        label=_("Audio"),
        required=False,
        choices=[
            ("", _("None: clips are named by their hash")),
            ("canonical", _("What raters heard: 48 kHz FLAC")),
            ("original", _("The files as they were handed in")),
        ],
        widget=forms.RadioSelect,
    )
    license = forms.CharField(
        label=_("License"),
        initial="unknown",
        max_length=60,
        help_text=_("As the Hugging Face Hub names it, such as cc-by-4.0."),
    )
    language = forms.RegexField(
        label=_("Languages"),
        regex=r"^\s*([A-Za-z-]{2,12}(\s*,\s*[A-Za-z-]{2,12})*)?\s*$",
        required=False,
        max_length=200,
        help_text=_("Codes with commas between, such as en, zh."),
    )
    creator = forms.CharField(label=_("Published by"), required=False, max_length=200)
    url = forms.URLField(label=_("Published at"), required=False, max_length=500, assume_scheme="https")

    def wishes(self) -> Wishes:
        said: dict[str, Any] = dict(self.cleaned_data)
        codes = [code.strip() for code in said.pop("language").split(",")]
        return Wishes(**said, language=tuple(code for code in codes if code))


class WithdrawalForm(forms.Form):
    mode = forms.ChoiceField(
        label=_("What becomes of what they said"),
        choices=RaterWithdrawal.Mode.choices,
        initial=RaterWithdrawal.Mode.REMOVED,
        widget=forms.RadioSelect,
    )
    note = forms.CharField(
        label=_("Note"),
        required=False,
        max_length=2000,
        help_text=_("How they asked for it; it stands on their certificate."),
    )
    sure = forms.BooleanField(label=_("I know that this cannot be undone."))
