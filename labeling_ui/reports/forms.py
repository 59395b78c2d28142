"""What a planner is asked, in the words and units of its page: shares in per cent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from analytics.planning.rules import PILOT_FIELDS, PlanRequest, RaterHabits
from analytics.reports.study_report import INTERVALS, MOST_REPLICATES, MOST_SEED

# With what a report is made.


INTERVAL_LABELS = {
    "jackknife": _("Jackknife over units"),
    "units": _("Bootstrap over units"),
    "items": _("Bootstrap over prompts"),
}


class ReportForm(forms.Form):
    interval = forms.ChoiceField(
        label=_("Interval of alpha"),
        help_text=_("The jackknife covers as often as it says; over prompts where their units are alike."),
        choices=[(key, INTERVAL_LABELS[key]) for key in INTERVALS],
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


_PERCENT_FIELDS = {"confidence", "power", "win_rate", "accuracy", "ties"}
_TARGET_FIELDS = {
    ("rating", "width"): ("half_width", "confidence", "systems"),
    ("rating", "power"): ("difference", "power", "confidence", "systems"),
    ("rating", "alpha"): ("half_width", "confidence"),
    ("preference", "width"): ("half_width", "win_rate", "confidence", "systems"),
    ("preference", "power"): ("win_rate", "power", "confidence", "systems"),
    ("preference", "alpha"): ("half_width", "confidence"),
    ("preference", "majority"): ("accuracy", "items"),
}


class PlanForm(forms.Form):
    """The numbers that one goal needs; the others keep what `start` says."""

    half_width = forms.FloatField(label=_("Half width of the interval, ±"), min_value=0.0001)
    difference = forms.FloatField(label=_("Difference of the means, in points"), min_value=0.0001)
    win_rate = forms.FloatField(
        label=_("Win rate, in %"), min_value=0, max_value=100, help_text=_("Of the votes that are no ties.")
    )
    accuracy = forms.FloatField(label=_("Majorities that are right, in %"), min_value=50.1, max_value=99.9)
    items = forms.IntegerField(label=_("Comparisons"), min_value=1, max_value=1_000_000)
    power = forms.FloatField(
        label=_("Power, in %"), min_value=5, max_value=99.9, help_text=_("The chance to find it.")
    )
    confidence = forms.FloatField(label=_("Confidence, in %"), min_value=50, max_value=99.99)
    systems = forms.IntegerField(label=_("Systems"), min_value=1, max_value=1000)
    overlap = forms.IntegerField(label=_("Votes on each"), min_value=1, max_value=1000)
    votes_per_rater = forms.IntegerField(label=_("Votes per rater"), min_value=1, max_value=1_000_000)
    seconds = forms.FloatField(
        label=_("Seconds for a vote"), min_value=0.1, max_value=36_000, required=False,
    )  # fmt: skip
    sd_raters = forms.FloatField(label=_("Between raters (severity)"), min_value=0, max_value=1e6)
    sd_items = forms.FloatField(label=_("Between items"), min_value=0, max_value=1e6)
    sd_outputs = forms.FloatField(label=_("Between outputs to an item"), min_value=0, max_value=1e6)
    sd_residual = forms.FloatField(label=_("The rest"), min_value=0.0001, max_value=1e6)
    ties = forms.FloatField(label=_("Ties, in %"), min_value=0, max_value=95)
    between_items = forms.FloatField(
        label=_("Correlation of two votes on a comparison"), min_value=0, max_value=0.99
    )
    between_raters = forms.FloatField(label=_("Correlation of a rater's votes"), min_value=0, max_value=0.99)
    alpha = forms.FloatField(label=_("Alpha"), min_value=-0.5, max_value=0.999)
    alpha_error = forms.FloatField(label=_("Its standard error × √units"), min_value=0.0001, max_value=1e6)
    pilot_overlap = forms.FloatField(label=_("Ratings per unit there"), min_value=2, max_value=1000)

    def __init__(self, data: Any, *, start: PlanRequest) -> None:
        """`data`: what was sent, or nothing, for the numbers of `start`. The number typed stays as it was typed."""
        self._start = start
        self._per_cent = _PERCENT_FIELDS | ({"half_width"} if _is_share_interval(start) else set())
        shown = {
            name: self._written(name, value) for name, value in start.as_json().items() if value is not None
        }
        super().__init__({**shown, **(data or {})}, auto_id="plan_%s")
        votes = () if start.goal == "majority" else ("overlap",)
        self._sections = {
            "target": _TARGET_FIELDS[start.kind, start.goal],
            "design": (*votes, "votes_per_rater", "seconds"),
            "pilot": PILOT_FIELDS[start.kind, start.goal],
        }
        for name in set(self.fields).difference(*self._sections.values()):
            del self.fields[name]
        if _is_share_interval(start):
            self.fields["half_width"].label = _("Half width of the interval, ± %")
        if start.goal == "alpha":
            self.fields["overlap"] = forms.IntegerField(label=_("Votes on each"), min_value=2, max_value=1000)
        if start.kind == "preference" and "systems" in self.fields:
            self.fields["systems"] = forms.IntegerField(label=_("Systems"), min_value=2, max_value=100)

    @property
    def asked(self) -> PlanRequest:
        numbers = {
            name: value / 100 if name in self._per_cent else value
            for name, value in self.cleaned_data.items()
        }
        return PlanRequest(**{**self._start.as_json(), "points": self._start.points, **numbers})

    def _written(self, name: str, value: Any) -> Any:
        if not isinstance(value, float):
            return value
        return f"{float(f'{100 * value if name in self._per_cent else value:.4g}'):g}"

    @property
    def sections(self) -> dict[str, list[forms.BoundField]]:
        return {section: [self[name] for name in names] for section, names in self._sections.items()}

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if cleaned.get("win_rate") == 50 and self._start.goal == "power":
            self.add_error("win_rate", _("At a win rate of one half there is no difference to find."))
        if cleaned.get("between_items", 0) + cleaned.get("between_raters", 0) >= 1:
            self.add_error("between_raters", _("The two correlations stay below 1 together."))
        if "systems" in self.fields and self._start.goal == "power" and cleaned.get("systems") == 1:
            self.add_error("systems", _("Two systems or more can be told apart."))
        return cleaned


class HabitsForm(forms.Form):
    careless = forms.FloatField(
        label=_("Raters who answer anything, in %"), min_value=0, max_value=90, initial=0
    )
    shown_first = forms.FloatField(
        label=_("Wins of what is shown first, in %"),
        help_text=_("Where there is nothing to choose; 50 is no lean."),
        min_value=1,
        max_value=99,
        initial=50,
    )

    def __init__(self, data: Any = None, *, kind: str) -> None:
        super().__init__(data, auto_id="habits_%s")
        if kind != "preference":
            del self.fields["shown_first"]

    @property
    def habits(self) -> RaterHabits:
        return RaterHabits(**{name: value / 100 for name, value in self.cleaned_data.items()})


def _is_share_interval(start: PlanRequest) -> bool:
    """Whether the interval is a win rate's, which the page has in per cent."""
    return (start.kind, start.goal) == ("preference", "width")


def submitted_numbers(data: Mapping[str, str]) -> dict[str, str]:
    return {name: data[name] for name in PlanForm.base_fields if name in data}
