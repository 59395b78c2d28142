"""Which rules bring cases before experts, and how cases are worked, as the settings page asks it.

Fields are named as the services name them in what they refuse: `flags.codes.min_raters`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.forms.boundfield import BoundField
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotation.errors import InvalidInput
from annotation.models import Membership, ReviewCase, Study
from annotation.models.people import Role
from annotation.review.flag_rules import KINDS, MAX_WEIGHT, FlagRules, Parameter
from annotation.review.labels import RULE_LABELS
from annotation.review.queue import UNRESOLVED, QueueFilters
from annotation.review.rules import ReviewSettings
from annotation.studies.settings import declared
from labeling_ui.domain_errors import add_form_errors

# The review queue's filters, saved views, and whom cases are given to.


CASE_STATE_LABELS = [
    (ReviewCase.State.OPEN, _("Open")),
    (ReviewCase.State.CLAIMED, _("Claimed")),
    (ReviewCase.State.RETURNED, _("Waiting for raters")),
    (UNRESOLVED, _("All that is unresolved")),
    (ReviewCase.State.RESOLVED, _("Resolved")),
]


class QueueForm(forms.Form):
    """What to show of the queue, from the address of the page. A stratum's field is named `strata.category`."""

    state = forms.ChoiceField(label=_("State"), required=False, choices=CASE_STATE_LABELS)
    rule = forms.ChoiceField(label=_("Rule that fired"), required=False)
    assigned = forms.ChoiceField(label=_("Assigned to"), required=False)
    text = forms.CharField(
        label=_("Words of name or text"),
        required=False,
        max_length=200,
        widget=forms.TextInput({"type": "search"}),
    )

    def __init__(
        self, data: Any, *, strata: Iterable[tuple[str, str]], experts: Iterable[tuple[str, str]]
    ) -> None:
        super().__init__(data, auto_id="queue_%s")
        self.fields["rule"].choices = [
            ("", _("Any")),
            *((key, words[0]) for key, words in RULE_LABELS.items()),
        ]
        people = [("", _("Anyone, or unassigned")), ("me", _("Me")), ("nobody", _("Unassigned")), *experts]
        self.fields["assigned"].choices = people
        values: dict[str, list[str]] = {}
        for name, value in strata:
            values.setdefault(name, []).append(value)
        for name, found in values.items():
            choices = [("", _("Any")), *((value, value) for value in found)]
            self.fields[f"strata.{name}"] = forms.ChoiceField(label=name, required=False, choices=choices)

    @property
    def filters(self) -> QueueFilters:
        """What was asked for; where that makes no sense, the queue as it is, and the form says what is wrong."""
        if not self.is_valid():
            return QueueFilters()
        try:
            return QueueFilters.of(self.cleaned_data)
        except InvalidInput as error:
            add_form_errors(self, error)
            return QueueFilters()


def query_string(filters: QueueFilters) -> str:
    """The part of an address that shows this again; empty for the queue as it is."""
    query = filters.as_query()
    return urlencode({name: value for name, value in query.items() if (name, value) != ("state", "open")})


class SaveViewForm(forms.Form):
    name = forms.CharField(label=_("Name"), max_length=80)
    shared = forms.BooleanField(label=_("Shared with all reviewers of this study"), required=False)


class AssignForm(forms.Form):
    """Cases and the expert they go to; nobody stands for taking them back."""

    expert = forms.ChoiceField(label=_("Assign the selected cases to"))
    cases = forms.TypedMultipleChoiceField(coerce=int, widget=forms.MultipleHiddenInput)

    def __init__(self, data: Any, *, experts: Iterable[tuple[str, str]]) -> None:
        super().__init__(data, auto_id="assign_%s")
        self.fields["expert"].choices = [*experts, ("nobody", _("Unassigned"))]
        case_ids = data.getlist("cases") if data else []
        self.fields["cases"].choices = [(case_id, case_id) for case_id in case_ids if case_id.isdecimal()]


def expert_choices(study: Study) -> list[tuple[str, str]]:
    """E-mail address and name of each expert of a study."""
    members = Membership.objects.filter(study=study, role=Role.EXPERT).select_related("user")
    return [(member.user.email, str(member.user)) for member in members.order_by("user__name", "user__email")]


# Asked for in per cent.
_PERCENT_FIELDS = {("audit", "share"), ("disagreement", "minority")}
_PARAMETER_LABELS: dict[tuple[str, str], tuple[Promise, Promise | str]] = {
    ("codes", "codes"): (_("Codes that count"), _("None chosen means all of them.")),
    ("codes", "min_raters"): (_("Raters who gave one"), ""),
    ("disagreement", "variance"): (
        _("Ratings: variance above"),
        _("Unbiased (n − 1), as on a scale from 1 to 5."),
    ),
    ("disagreement", "min_ratings"): (_("Ratings of one answer needed for it"), ""),
    ("disagreement", "minority"): (_("Preferences: share of the minority in %, at least"), ""),
    ("disagreement", "min_votes"): (_("Votes on one pair needed for it"), ""),
    ("low_confidence", "confidence"): (_("Mean confidence at most"), _("As on a scale from 1 to 5.")),
    ("low_confidence", "min_answers"): (_("Answers needed for it"), ""),
    ("failed_gold", "min_raters"): (_("Raters who failed it"), ""),
    ("model_conflict", "scorer"): (_("Model"), _("One that has scored this study.")),
    ("model_conflict", "output"): (_("Which of its outputs"), _("The page of a run lists them.")),
    ("model_conflict", "question"): (_("Compared with the answers to"), ""),
    ("model_conflict", "difference"): (
        _("Difference, at least"),
        _("Between where the model and where people place an answer, from 0 to 1."),
    ),
    ("model_conflict", "min_ratings"): (_("Ratings of one answer needed for it"), ""),
    ("unannotated", "min_skips"): (_("Raters who skipped it"), ""),
    ("audit", "share"): (_("Share of finished items, in %"), ""),
}

# What no choice means, of those that can be left open.
_EMPTY_LABELS = {"scorer": _("None chosen"), "question": _("The first comparable question")}


@dataclass(frozen=True)
class RuleFields:
    """One rule on the page: what it is called and does, its switch, and what can be set."""

    key: str
    title: Promise
    meaning: Promise
    switch: BoundField
    rest: list[BoundField]

    @property
    def has_errors(self) -> bool:
        return any(field.errors for field in self.rest)


_SETTINGS = declared(ReviewSettings)


class ReviewRulesForm(forms.Form):
    undo_minutes = forms.IntegerField(
        label=_("Minutes in which an expert can undo a decision"),
        min_value=int(_SETTINGS["undo_minutes"].least),
        max_value=int(_SETTINGS["undo_minutes"].most),
        help_text=_("Enter 0 for never."),
    )
    claim_minutes = forms.IntegerField(
        label=_("Minutes until the claim of an inactive expert expires"),
        min_value=int(_SETTINGS["claim_minutes"].least),
        max_value=int(_SETTINGS["claim_minutes"].most),
    )
    pool_votes = forms.IntegerField(
        label=_("Judgments requested by a return to the pool"),
        min_value=int(_SETTINGS["pool_votes"].least),
        max_value=int(_SETTINGS["pool_votes"].most),
    )
    same_raters = forms.BooleanField(
        label=_("Raters who saw an item may judge its corrected version"),
        required=False,
        help_text=_("Otherwise it goes to raters who have not seen the item."),
    )

    def __init__(self, data: Any, *, study: Study, choices: Mapping[str, Sequence[tuple[str, str]]]) -> None:
        """`choices`: value and label of the protocol's `codes`, of each `scorer` and of each `question`."""
        rules = FlagRules.of(study.rules)
        initial = asdict(ReviewSettings.of(study.rules))
        for rule in rules:
            for name, value in rule.as_json().items():
                initial[_field_name(rule.key, name)] = _initial_value(rule.key, name, value)
        super().__init__(data, initial=initial, auto_id="review_%s")
        for key, kind in KINDS.items():
            self.fields[_field_name(key, "on")] = forms.BooleanField(
                label=RULE_LABELS[key][0], required=False
            )
            for parameter in kind.parameters:
                self.fields[_field_name(key, parameter.name)] = _field(
                    key, parameter, choices, stored=rules[key][parameter.name]
                )
            self.fields[_field_name(key, "weight")] = forms.FloatField(
                label=_("Weight in the order of the queue"), min_value=0, max_value=MAX_WEIGHT
            )

    @property
    def settings(self) -> list[BoundField]:
        return [self[name] for name in self.base_fields]

    @property
    def rules(self) -> list[RuleFields]:
        rules = []
        for key, kind in KINDS.items():
            title, meaning = RULE_LABELS[key]
            names = [*(parameter.name for parameter in kind.parameters), "weight"]
            rest = [self[_field_name(key, name)] for name in names]
            rules.append(RuleFields(key, title, meaning, self[_field_name(key, "on")], rest))
        return rules

    @property
    def flags(self) -> dict[str, dict[str, Any]]:
        """The rules as the services take them."""
        flags: dict[str, dict[str, Any]] = {key: {} for key in KINDS}
        for name, value in self.cleaned_data.items():
            if name.startswith("flags."):
                _flags, key, parameter = name.split(".")
                flags[key][parameter] = value / 100 if (key, parameter) in _PERCENT_FIELDS else value
        return flags

    @property
    def values(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in self.base_fields}


def _field_name(key: str, parameter: str) -> str:
    return f"flags.{key}.{parameter}"


def _initial_value(key: str, name: str, value: Any) -> Any:
    if (key, name) in _PERCENT_FIELDS:
        value = round(100 * value, 6)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _field(
    key: str, parameter: Parameter, choices: Mapping[str, Sequence[tuple[str, str]]], *, stored: Any
) -> forms.Field:
    label, help_text = _PARAMETER_LABELS[key, parameter.name]
    if parameter.kind == "codes":
        return forms.MultipleChoiceField(
            label=label, help_text=help_text, required=False, choices=choices["codes"],
            widget=forms.CheckboxSelectMultiple,
        )  # fmt: skip
    if parameter.name in _EMPTY_LABELS:
        offered = [("", _EMPTY_LABELS[parameter.name]), *choices[parameter.name]]
        if stored not in dict(offered):  # of a model or a question that is gone: shown, not dropped
            offered.append((stored, stored))
        return forms.ChoiceField(label=label, help_text=help_text, required=False, choices=offered)
    if parameter.kind == "text":
        return forms.CharField(label=label, help_text=help_text, max_length=200)
    scale = 100 if (key, parameter.name) in _PERCENT_FIELDS else 1
    number = forms.IntegerField if parameter.kind == "whole" else forms.FloatField
    return number(
        label=label, help_text=help_text, min_value=scale * parameter.least, max_value=scale * parameter.most
    )
