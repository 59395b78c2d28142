"""In which format to write a study out."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from analytics.exporters import EXPORTERS

TITLES = {
    "jsonl": _("JSONL: one judgment per line, its answers inside"),
    "csv": _("CSV: one answer per row, for spreadsheets and data frames"),
}


class ExportForm(forms.Form):
    format = forms.ChoiceField(
        label=_("Format"),
        choices=[(key, TITLES.get(key, key)) for key in EXPORTERS],
        initial="jsonl",
        widget=forms.RadioSelect,
    )
