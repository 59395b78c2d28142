"""Forms of the quality rules and of what is done about one rater. Shares are asked for in per cent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django import forms
from django.forms.boundfield import BoundField
from django.utils.translation import gettext as look_up_now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_lazy as look_up

from analytics.raters.rules import (
    ABOVE,
    ACTIONS,
    BELOW,
    FIGURES,
    MAX_CONDITIONS,
    MAX_RULES,
    Handling,
    QualityRules,
)
from annotation.errors import FieldProblem
from annotation.models import Rater
from annotation.raters.actions import MAX_MESSAGE, MAX_REASON
from annotation.studies.settings import declared
from labeling_ui.study.settings_forms import setting_field


def figure_choices() -> list[tuple[str, str]]:
    """Shares say that they are in per cent."""
    return [
        (key, _("%(figure)s, in %%") % {"figure": look_up_now(one.label)} if one.share else look_up_now(one.label))
        for key, one in FIGURES.items()
    ]  # fmt: skip


class RuleForm(forms.Form):
    """One rule, under a prefix of its own: `c0_figure` and the like are its conditions, of which empty ones are left
    out."""

    key = forms.CharField(widget=forms.HiddenInput, required=False)
    title = forms.CharField(label=_("Name"), max_length=80)
    on = forms.BooleanField(label=_("On"), required=False)
    action = forms.ChoiceField(
        label=_("Then"), choices=[(key, look_up(label)) for key, label in ACTIONS.items()]
    )
    message = forms.CharField(
        label=_("Your words to the rater"),
        required=False,
        max_length=MAX_MESSAGE,
        help_text=_("Shown to them below a plain sentence about the action. May be left empty."),
    )

    def __init__(self, data: Any, *, prefix: str, initial: Mapping[str, Any] | None = None) -> None:
        super().__init__(data, prefix=prefix, initial=dict(initial or {}), auto_id="%s")
        choices = [("", _("No condition")), *figure_choices()]
        for n in range(MAX_CONDITIONS):
            self.fields |= {
                f"c{n}_figure": forms.ChoiceField(label=_("Figure"), choices=choices, required=False),
                f"c{n}_side": forms.ChoiceField(
                    label=_("Is"), choices=[(BELOW, _("below")), (ABOVE, _("above"))], required=False
                ),
                f"c{n}_value": forms.FloatField(label=_("Value"), required=False),
                f"c{n}_least_n": forms.IntegerField(label=_("With at least"), required=False, min_value=1),
                f"c{n}_surely": forms.BooleanField(
                    label=_("Only where the whole 95 % interval is"), required=False
                ),
            }

    @property
    def conditions(self) -> list[dict[str, BoundField]]:
        parts = ("figure", "side", "value", "least_n", "surely")
        return [{part: self[f"c{n}_{part}"] for part in parts} for n in range(MAX_CONDITIONS)]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        for n in range(MAX_CONDITIONS):
            if cleaned.get(f"c{n}_figure") and cleaned.get(f"c{n}_value") is None:
                self.add_error(f"c{n}_value", _("Enter a number."))
        return cleaned

    def as_rule(self, keys: set[str]) -> dict[str, Any]:
        """As the service takes it. A rule without a key gets one."""
        values = self.cleaned_data
        key = values["key"] or next(f"rule-{n}" for n in range(1, 10_000) if f"rule-{n}" not in keys)
        return {
            "key": key, "title": values["title"], "on": values["on"], "action": values["action"],
            "message": values["message"], "conditions": list(self._conditions(values)),
        }  # fmt: skip

    def _conditions(self, values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        for n in range(MAX_CONDITIONS):
            if figure := values.get(f"c{n}_figure"):
                value = float(values[f"c{n}_value"])
                yield {
                    "figure": figure, "side": values.get(f"c{n}_side") or BELOW,
                    "value": round(value / 100, 6) if FIGURES[figure].share else value,
                    "least_n": values.get(f"c{n}_least_n") or 10, "surely": values[f"c{n}_surely"],
                }  # fmt: skip


def rule_initial(rule: Mapping[str, Any]) -> dict[str, Any]:
    """A stored rule as its form shows it."""
    shown = {name: rule[name] for name in ("key", "title", "on", "action", "message")}
    for n, one in enumerate(rule["conditions"]):
        value = one["value"] * 100 if FIGURES[one["figure"]].share else one["value"]
        shown |= {
            f"c{n}_figure": one["figure"], f"c{n}_side": one["side"], f"c{n}_value": float(f"{value:.6g}"),
            f"c{n}_least_n": one["least_n"], f"c{n}_surely": one["surely"],
        }  # fmt: skip
    return shown


class HandlingForm(forms.Form):
    """What holds for all rules."""

    def __init__(self, data: Any, *, rules: QualityRules) -> None:
        settings = declared(Handling)
        super().__init__(
            data, initial={name: getattr(rules, name) for name in settings}, auto_id="handling_%s"
        )
        self.fields |= {
            name: setting_field(one, required=name == "minutes") for name, one in settings.items()
        }


class QualityRulesForm:
    """All rules of a study with what holds for all of them. `problems`: what the service refused, that no field has."""

    def __init__(self, data: Any, *, rules: QualityRules) -> None:
        self.handling = HandlingForm(data, rules=rules)
        self.problems: list[str] = []
        stored = rules.as_json()["rules"]
        if data is None:
            self.rules = [
                RuleForm(None, prefix=f"r{n}", initial=rule_initial(one)) for n, one in enumerate(stored)
            ]
            return
        numbers = [n for n in range(2 * MAX_RULES) if f"r{n}-action" in data]
        removed = {name.removeprefix("remove-") for name in data if name.startswith("remove-")}
        self.rules = [RuleForm(data, prefix=f"r{n}") for n in numbers if f"r{n}" not in removed]

    def add_blank(self) -> None:
        taken = {form.prefix for form in self.rules}
        prefix = next(f"r{n}" for n in range(2 * MAX_RULES) if f"r{n}" not in taken)
        self.rules.append(RuleForm(None, prefix=prefix, initial={"action": "warn"}))

    def is_valid(self) -> bool:
        return all([self.handling.is_valid(), *(form.is_valid() for form in self.rules)])

    @property
    def has_errors(self) -> bool:
        return bool(self.problems) or any(
            form.is_bound and form.errors for form in (self.handling, *self.rules)
        )

    @property
    def values(self) -> dict[str, Any]:
        keys = {form.cleaned_data["key"] for form in self.rules}
        rules = []
        for form in self.rules:
            rules.append(form.as_rule(keys))
            keys.add(rules[-1]["key"])
        return {"rules": rules, **self.handling.cleaned_data}

    def show_problems(self, problems: list[FieldProblem]) -> None:
        """Each at its rule, or above all of them."""
        for problem in problems:
            number = problem.field.partition("[")[2].partition("]")[0]
            form = self.rules[int(number)] if number.isdecimal() and int(number) < len(self.rules) else None
            if form is None:
                self.problems.append(problem.message)
            else:
                form.add_error(None, problem.message)


# Raters get a notice of the actions. These change only their place, or their judgments.
REINSTATE, EXCLUDE_JUDGMENTS, RESTORE_JUDGMENTS = "reinstate", "exclude_judgments", "restore_judgments"
# Reports list the reasons of exclusions.
_MAX_EXCLUSION_REASON = 40


class RaterActionForm(forms.Form):
    """What to do about one rater: the actions, and those of the other three that change anything."""

    action = forms.ChoiceField(label=_("What to do"), widget=forms.RadioSelect)
    reason = forms.CharField(
        label=_("Reason"),
        max_length=MAX_REASON,
        help_text=_("For those who run the study. The rater does not see it."),
    )
    message = forms.CharField(
        label=_("Your words to the rater"),
        required=False,
        max_length=MAX_MESSAGE,
        help_text=_("Shown to them below a plain sentence about the action. May be left empty."),
    )

    def __init__(self, data: Any = None, *, rater: Rater, n_excluded: int) -> None:
        super().__init__(data, auto_id="action_%s")
        choices = [(key, look_up(label)) for key, label in ACTIONS.items()]
        choices.append((EXCLUDE_JUDGMENTS, _("Exclude their judgments so far, and let them go on")))
        if n_excluded:
            choices.append((RESTORE_JUDGMENTS, _("Restore all their judgments")))
        if rater.state in (Rater.State.PAUSED, Rater.State.EXCLUDED):
            choices.append((REINSTATE, _("Give them tasks again")))
        field = self.fields["action"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices

    def clean_reason(self) -> str:
        reason = str(self.cleaned_data["reason"])
        of_judgments = self.cleaned_data.get("action") in (EXCLUDE_JUDGMENTS, RESTORE_JUDGMENTS)
        if of_judgments and len(reason) > _MAX_EXCLUSION_REASON:
            text = _("Say it in %(most)s characters: reports list the reason.")
            raise forms.ValidationError(text, params={"most": _MAX_EXCLUSION_REASON})
        return reason
