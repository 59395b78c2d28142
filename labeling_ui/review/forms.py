"""Which rules bring cases before experts, and how cases are worked, as the settings page asks it.

Fields are named as the services name them in what they refuse: `flags.codes.min_raters`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.forms.boundfield import BoundField
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_lazy as look_up

from annotation.errors import InvalidInput
from annotation.models import Membership, ReviewCase, Study
from annotation.models.people import Role
from annotation.review.flag_rules import KINDS, FlagRule, FlagRules
from annotation.review.queue import UNRESOLVED, QueueFilters
from annotation.review.rules import ReviewSettings
from annotation.studies.settings import Setting, declared
from labeling_ui.domain_errors import add_form_errors
from labeling_ui.study.settings_forms import SectionForm, setting_field

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
        titles = ((key, look_up(kind.title)) for key, kind in KINDS.items())
        self.fields["rule"].choices = [("", _("Any")), *titles]
        people = [("", _("Anyone, or unassigned")), ("me", _("Me")), ("nobody", _("Unassigned")), *experts]
        self.fields["assigned"].choices = people
        values: dict[str, list[str]] = {}
        for name, value in strata:
            values.setdefault(name, []).append(value)
        for name, offered in values.items():
            choices = [("", _("Any")), *((value, value) for value in offered)]
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


class ReviewRulesForm(SectionForm):
    declaration, key = ReviewSettings, "review"

    def __init__(self, data: Any, *, study: Study, choices: Mapping[str, Sequence[tuple[str, str]]]) -> None:
        """`choices`: value and label of the protocol's `codes`, of each `scorer` and of each `question`."""
        super().__init__(data, study=study, values=asdict(ReviewSettings.of(study.rules)))
        for rule in FlagRules.of(study.rules):
            for setting in _rule_settings(type(rule)):
                name, stored = f"flags.{rule.key}.{setting.name}", rule.as_json()[setting.name]
                self.fields[name] = _rule_field(setting, choices, stored=stored)
                self.initial[name] = _shown_value(setting, stored)

    @property
    def handling(self) -> list[BoundField]:
        """How cases are handled; the box to check comes last."""
        return sorted((self[name] for name in self.declared), key=lambda field: field.name == "same_raters")

    @property
    def rules(self) -> list[RuleFields]:
        rules = []
        for key, kind in KINDS.items():
            switch, *rest = (self[f"flags.{key}.{setting.name}"] for setting in _rule_settings(kind))
            rules.append(RuleFields(key, look_up(kind.title), look_up(kind.meaning), switch, rest))
        return rules

    @property
    def flags(self) -> dict[str, dict[str, Any]]:
        """The rules as the services take them."""
        flags: dict[str, dict[str, Any]] = {}
        for key, kind in KINDS.items():
            values = {one.name: self.cleaned_data[f"flags.{key}.{one.name}"] for one in _rule_settings(kind)}
            shares = {one.name: values[one.name] / 100 for one in _rule_settings(kind) if one.percent}
            flags[key] = values | shares
        return flags

    @property
    def values(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in self.declared}


def _rule_settings(kind: type[FlagRule]) -> list[Setting]:
    """In the order of the page: the switch, what can be set, the weight."""
    switch, weight, *rest = declared(kind).values()
    return [replace(switch, label=kind.title), *rest, weight]


def _shown_value(setting: Setting, value: Any) -> Any:
    if setting.percent:
        value = round(100 * value, 6)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _rule_field(
    setting: Setting, choices: Mapping[str, Sequence[tuple[str, str]]], *, stored: Any
) -> forms.Field:
    label, help_text = look_up(setting.label), look_up(setting.help_text) if setting.help_text else ""
    if setting.name in _EMPTY_LABELS:
        offered = [("", _EMPTY_LABELS[setting.name]), *choices[setting.name]]
        if stored not in dict(offered):  # of a model or a question that is gone: shown, not dropped
            offered.append((stored, stored))
        return forms.ChoiceField(label=label, help_text=help_text, required=False, choices=offered)
    if setting.type == "str":
        return forms.CharField(label=label, help_text=help_text, max_length=setting.max_length)
    scale = 100 if setting.percent else 1
    field = setting_field(
        replace(setting, least=scale * setting.least, most=scale * setting.most, percent=False)
    )
    if setting.type == "tuple":
        field.choices = choices[setting.name]
    return field
