from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from analytics.training_sets.formats import FORMATS
from analytics.training_sets.options import GROUPS, MOST_SEED, ORIGINS, Options, TrainingSetError

TITLES = {
    "trl-preference": _("Preference pairs for TRL: prompt, chosen, rejected, margin (Parquet)"),
    "trl-unpaired": _("Single answers with a label for TRL: prompt, completion, label (Parquet)"),
    "soft-preferences": _("Soft labels P(A > B) with every vote, its weight and models’ scores (Parquet)"),
    "cmi-pref": _("Reward-model rows in CMI-Pref’s columns (JSONL)"),
    "orca": _("Individual ratings in ORCA’s layout (JSON)"),
    "aqeval": _("Correct, half, incorrect: AQEval’s 1, 0.5, 0 (CSV)"),
    "arena": _("Arena votes: model_a, model_b, winner (Parquet)"),
    "mos": _("Mean opinions with every rating (Parquet)"),
}
TEXTS = {
    "corrected": _("As they are now, with the votes that count now"),
    "original": _("As they were before any correction, with the votes given on them"),
    "both": _("Both, each with its own votes; never in two splits"),
}
TIES = {
    "": _("As is usual for the format"),
    "drop": _("No vote"),
    "half": _("Half a vote for each side"),
    "both-directions": _("Half a vote each; undecided pairs stand there in both directions (trl-preference)"),
    "keep": _("Kept as ties (cmi-pref, arena)"),
}
WEIGHTS = {
    "equal": _("All the same"),
    "agreement": _("By how far the rater agrees with the others"),
}
CONFIDENCE = {
    "column": _("Told, and changes nothing else"),
    "weight": _("Multiplies the weight of the vote"),
}
ROWS = {"": _("A row per vote"), "aggregate": _("A row per pair")}
MARGINS = {
    "log-odds": _("Log-odds of the share of votes"),
    "votes": _("Difference of the shares of votes"),
}
VOTES = {
    "rated": _("Given here by people"),
    "imported": _("Imported"),
    "simulated": _("Simulated: no person gave them"),
}
GROUP_TITLES = {"prompt": _("Prompts and lyrics"), "question": _("Questions"), "clip": _("Sounds")}


class TrainingSetForm(forms.Form):
    format = forms.ChoiceField(
        label=_("Format"), choices=[(key, TITLES.get(key, key)) for key in FORMATS], widget=forms.RadioSelect
    )
    texts = forms.ChoiceField(
        label=_("Texts of the items"), choices=[*TEXTS.items()], widget=forms.RadioSelect
    )
    votes = forms.MultipleChoiceField(
        label=_("Whose votes"),
        choices=[(key, VOTES[key]) for key in ORIGINS],
        widget=forms.CheckboxSelectMultiple,
    )
    ties = forms.ChoiceField(
        label=_("Ties, and “both bad”, count as"), choices=[*TIES.items()], required=False
    )
    rows = forms.ChoiceField(label=_("Rows of cmi-pref"), choices=[*ROWS.items()], required=False)
    weights = forms.ChoiceField(label=_("Weight of a vote"), choices=[*WEIGHTS.items()])
    confidence = forms.ChoiceField(label=_("Confidence"), choices=[*CONFIDENCE.items()])
    margin = forms.ChoiceField(label=_("Margin of a pair"), choices=[*MARGINS.items()])
    min_votes = forms.IntegerField(label=_("Fewest votes of a task"), min_value=1, max_value=1000)
    groups = forms.MultipleChoiceField(
        label=_("Never in two splits, besides items"),
        help_text=_(
            "What shares one, through others too, goes together. Small changes of wording count as the same."
        ),
        choices=[(key, GROUP_TITLES[key]) for key in GROUPS],
        widget=forms.CheckboxSelectMultiple,
        required=False,
    )
    ratios = forms.CharField(label=_("Train : dev : test"), max_length=60)
    seed = forms.IntegerField(label=_("Seed of the split"), min_value=0, max_value=MOST_SEED)
    hold_out_systems = forms.CharField(
        label=_("Systems in the test split alone"),
        help_text=_("One per line."),
        widget=forms.Textarea(attrs={"rows": 2}),
        required=False,
    )
    audio = forms.BooleanField(label=_("With the sounds themselves"), required=False)

    @property
    def numbers(self) -> list[forms.BoundField]:
        return [self[name] for name in ("min_votes", "ratios", "seed")]

    @property
    def finer(self) -> list[forms.BoundField]:
        return [
            self[name] for name in ("ties", "rows", "weights", "confidence", "margin", "hold_out_systems")
        ]

    def clean_ratios(self) -> tuple[float, ...]:
        try:
            return tuple(float(share) for share in self.cleaned_data["ratios"].split(":"))
        except ValueError:
            raise forms.ValidationError(_("Give three numbers, as in 8:1:1.")) from None

    def clean_hold_out_systems(self) -> tuple[str, ...]:
        lines = self.cleaned_data["hold_out_systems"].splitlines()
        return tuple(line.strip() for line in lines if line.strip())

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or {}
        if not self.errors:
            try:
                self.options = Options.of(values)
            except TrainingSetError as error:
                raise forms.ValidationError(str(error)) from error
        return values


# What the form shows before anything was chosen.
USUAL = {
    "format": "soft-preferences",
    "texts": "corrected",
    "votes": ["rated", "imported"],
    "weights": "equal",
    "confidence": "column",
    "margin": "log-odds",
    "min_votes": 1,
    "groups": list(GROUPS),
    "ratios": "8:1:1",
    "seed": 0,
}
