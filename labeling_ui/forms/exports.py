"""In which format to write a study out, and which versions of its items."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from analytics.exporters import EXPORTERS

TITLES = {
    "jsonl": _("JSONL: one judgment per line, its answers inside"),
    "csv": _("CSV: one answer per row, for spreadsheets and data frames"),
    "parquet": _("Parquet: the tables of releases, typed, for large studies"),
    "label-studio": _("Label Studio: its tasks with the judgments that stand, and a labeling configuration"),
}
VERSIONS = {
    "both": _("Every version, each with its number"),
    "original": _("Original versions only, as they were before any correction"),
    "corrected": _("Current versions only, with all corrections"),
}


class ExportForm(forms.Form):
    format = forms.ChoiceField(
        label=_("Format"),
        choices=[(key, TITLES.get(key, key)) for key in EXPORTERS],
        initial="jsonl",
        widget=forms.RadioSelect,
    )
    texts = forms.ChoiceField(
        label=_("Texts of the items"),
        help_text=_("Judgments and corrections are always all there, and name the version they are about."),
        choices=list(VERSIONS.items()),
        initial="both",
        widget=forms.RadioSelect,
    )
